"""Takes URLs into the queue, all of a submission or none, and wakes a Fetch Worker.

Where the database's server can submit jobs it does so in the statement that inserts, else this process does after
the commit. A wake that is lost either way is made good by the sweeper.
"""

import secrets
from collections.abc import Sequence

from stacksearch import urlqueue
from stacksearch.config import Config
from stacksearch.database import Database, Wake
from stacksearch.errors import InputError, UnavailableError
from stacksearch.gear import FETCH, Client
from stacksearch.urlqueue import Url
from stacksearch.urls import Rules, UrlError, normalise


class FullError(UnavailableError):
    """The queue table holds as many URLs as the configuration lets it."""


def submit(
    config: Config, database: Database, client: Client, texts: Sequence[str], depth: int | None = None
) -> list[Url]:
    """Queue what people typed; a URL that has ended is fetched anew. Gives the rows in the order of the texts.

    Raises InputError that names every text that is wrong.
    """
    if depth is None:
        depth = config.crawl.depth
    if not 0 <= depth <= config.crawl.depth:
        raise InputError(f"depth {depth} is not between 0 and {config.crawl.depth}")
    if not texts:
        raise InputError("no URL is given")
    if len(texts) > config.web.submit_limit:
        raise InputError(f"{len(texts)} URLs are more than {config.web.submit_limit} in one go")
    addresses, errors = [], []
    rules = Rules(config.crawl)
    for text in texts:
        try:
            address = normalise(text)
        except UrlError as failure:
            errors.append(failure.message)
            continue
        if refusal := rules.refusal(address):
            errors.append(f"{address}: {refusal}")
        addresses.append(address)
    if errors:
        raise InputError("; ".join(errors[:20]) + (f"; and {len(errors) - 20} more" if len(errors) > 20 else ""))
    if urlqueue.count(database) >= config.crawl.queue_limit:
        raise FullError(f"the queue holds {config.crawl.queue_limit} URLs, which is its limit")
    if database.wakes():
        return urlqueue.submit(database, addresses, depth, Wake(client.name(FETCH), "null", secrets.token_hex(16)))
    urls = urlqueue.submit(database, addresses, depth)
    first = urls[0]
    client.wake(FETCH, f"{first.id}-{first.generation}")
    return urls
