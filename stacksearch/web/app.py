"""The web front as a process: application, listener, orderly end."""

import asyncio
import logging
from collections.abc import Callable

from aiohttp import web

from stacksearch.config import Config
from stacksearch.errors import StacksearchError
from stacksearch.stop import notify, stopping
from stacksearch.web import api, views
from stacksearch.web.guard import guard
from stacksearch.web.keys import CONFIG, PAGES, POOL
from stacksearch.web.pages import Pages
from stacksearch.web.pool import Pool

log = logging.getLogger(__name__)

_BODY_LIMIT = 4 * 1024 * 1024


def make_app(config: Config) -> web.Application:
    """The application."""
    app = web.Application(middlewares=[guard], client_max_size=_BODY_LIMIT)
    app[CONFIG] = config
    app[POOL] = pool = Pool(config)
    app[PAGES] = Pages(config.web.title)
    app.add_routes(api.routes)
    app.add_routes(views.routes)

    async def close(_: web.Application) -> None:
        await asyncio.to_thread(pool.close)

    app.on_cleanup.append(close)
    return app


def run(config: Config) -> None:
    """Serve until told to stop; requests under way are answered first."""
    with stopping() as stop:
        asyncio.run(_serve(config, stop.is_set))


async def _serve(config: Config, stopped: Callable[[], bool]) -> None:
    runner = web.AppRunner(make_app(config), access_log=None, handler_cancellation=True, shutdown_timeout=5)
    await runner.setup()
    where = f"{config.web.listen}:{config.web.port}"
    try:
        try:
            await web.TCPSite(runner, config.web.listen, config.web.port).start()
        except OSError as failure:
            raise StacksearchError(f"cannot listen on {where}: {failure.strerror or failure}") from None
        log.info("listening on %s", where)
        notify("READY=1")
        while not stopped():
            await asyncio.sleep(0.2)
    finally:
        await runner.cleanup()
