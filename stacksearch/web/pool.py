"""Threads for what blocks: each has connections of its own to the database, the queue and the index."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from stacksearch.config import Config
from stacksearch.service import Parts

Result = TypeVar("Result")


class Pool:
    """Runs functions of ``Parts`` in threads."""

    def __init__(self, config: Config, threads: int = 8) -> None:
        self._config = config
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="parts")
        self._local = threading.local()
        self._made: list[Parts] = []

    async def call(self, work: Callable[[Parts], Result]) -> Result:
        """The result of ``work``, which is given the connections of its thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, work)

    def _run(self, work: Callable[[Parts], Result]) -> Result:
        parts: Parts | None = getattr(self._local, "parts", None)
        if parts is None:
            parts = self._local.parts = Parts.of(self._config)
            self._made.append(parts)
        return work(parts)

    def close(self) -> None:
        """End the threads and close their connections."""
        self._threads.shutdown()
        for parts in self._made:
            parts.close()
