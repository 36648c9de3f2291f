"""The configuration: a tree of frozen values; unknown keys are errors, and all errors are reported together."""

import ipaddress
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from stacksearch.addresses import Allowed, parse_allowed
from stacksearch.errors import ConfigError
from stacksearch.reader import Reader

DEFAULT_PATH = Path("/etc/stacksearch/stacksearch.yml")
PATH_VARIABLE = "STACKSEARCH_CONFIG"

BINARY_FILES = (
    r"(?i)\.(png|jpe?g|gif|svg|webp|avif|ico|bmp|tiff?|css|js|mjs|json|xml|rss|atom|dtd|map|woff2?|ttf|otf|eot"
    r"|zip|gz|tgz|bz2|xz|zst|7z|rar|tar|jar|deb|rpm|iso|img|exe|msi|dmg|bin|pdf|ps|docx?|xlsx?|pptx?|odt|ods"
    r"|mp[34]|m4[av]|ogg|oga|ogv|webm|avi|mkv|mov|flac|wav)([?;]|$)"
)
"""Links to such files are not followed unless the operator says otherwise."""


class Secret(str):
    """A string that does not show itself in logs and error messages."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


Pattern = re.Pattern[str]


@dataclass(frozen=True)
class Server:
    """A host and a port."""

    host: str
    port: int = field(metadata={"min": 1, "max": 65535})

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class DatabaseConfig:
    """The database, which holds the truth."""

    host: str = "127.0.0.1"
    port: int = field(default=3306, metadata={"min": 1, "max": 65535})
    name: str = "stacksearch"
    user: str = "stacksearch"
    password: Secret = field(default=Secret(""))
    engine: str = field(default="mariadb", metadata={"choices": ("mariadb", "drizzle")})
    wake_servers: tuple[Server, ...] = ()
    """The gearmands as the database's server reaches them: where it can, it submits the wake-ups itself."""


@dataclass(frozen=True)
class QueueConfig:
    """The gearmands, which only wake."""

    servers: tuple[Server, ...] = (Server("127.0.0.1", 4730),)
    prefix: str = field(default="stacksearch", metadata={"pattern": r"[A-Za-z0-9_-]{1,20}"})
    """Begins the names of the Gearman functions and the keys in memcached."""


@dataclass(frozen=True)
class CacheConfig:
    """The memcacheds, which only speed."""

    servers: tuple[Server, ...] = (Server("127.0.0.1", 11211),)
    item_limit: int = field(default=1_000_000, metadata={"min": 1024})
    """Bytes of the largest value that memcached takes; larger pages go straight to the database."""
    lifetime: int = field(default=86400, metadata={"min": 60})
    """Seconds a document stays in memcached."""


@dataclass(frozen=True)
class IndexConfig:
    """Sphinx's searchd, its MySQL protocol."""

    host: str = "127.0.0.1"
    port: int = field(default=9306, metadata={"min": 1, "max": 65535})
    name: str = field(default="documents", metadata={"pattern": r"[a-z][a-z0-9_]{0,30}"})


@dataclass(frozen=True)
class FetchConfig:
    """How pages are fetched."""

    allow: tuple[Allowed, ...] = ()
    """Networks of the operator's own that may be fetched although they are private: ``10.0.0.0/8``,
    ``127.0.0.1:8080``, ``[::1]:80``. Their hosts are not throttled."""
    ports: tuple[int, ...] = field(default=(80, 443, 8080, 8443), metadata={"min": 1, "max": 65535})
    """The ports that may be fetched from public addresses."""
    user_agent: str = "stacksearch/1 (+search engine of this site's operator)"
    robots: bool = True
    """Whether robots.txt is obeyed."""
    concurrency: int = field(default=16, metadata={"min": 1, "max": 1000})
    """Fetches at one time in a worker."""
    host_connections: int = field(default=2, metadata={"min": 1, "max": 1000})
    """Fetches at one time from one public host."""
    host_delay: float = field(default=0.5, metadata={"min": 0})
    """Seconds between the beginnings of two fetches from one public host."""
    connect_timeout: float = field(default=10.0, metadata={"min": 0.1})
    timeout: float = field(default=30.0, metadata={"min": 0.1})
    """Seconds for a whole page, redirects included."""
    size_limit: int = field(default=4 * 1024 * 1024, metadata={"min": 1024})
    """Bytes of a page after decompression; a larger one fails."""
    redirects: int = field(default=5, metadata={"min": 0, "max": 30})
    """Redirects that are followed for one page."""
    attempts: int = field(default=4, metadata={"min": 1, "max": 100})
    """Attempts before a page that fails for the moment has failed for good."""
    retry_delay: float = field(default=30.0, metadata={"min": 0})
    """Seconds before the second attempt; doubled for each further one."""
    batch: int = field(default=64, metadata={"min": 1, "max": 1000})
    """URLs leased, and pages handed on, in one go."""
    lease: int = field(default=60, metadata={"min": 5})
    """Seconds that a worker may hold a URL without a sign of life."""


@dataclass(frozen=True)
class CrawlConfig:
    """Which links are followed."""

    depth: int = field(default=10, metadata={"min": 0, "max": 1000})
    """Links from a submitted page to the farthest one, unless the submission says less."""
    same_host: bool = True
    """Whether only links to the page's own host and port are followed."""
    include: tuple[Pattern, ...] = ()
    """Regular expressions (searched); with any given, a URL must match one."""
    exclude: tuple[Pattern, ...] = (re.compile(BINARY_FILES),)
    """Regular expressions (searched); a URL that matches one is not taken."""
    queue_limit: int = field(default=5_000_000, metadata={"min": 1})
    """URLs in the queue table; beyond it submissions are refused and links are not followed."""


@dataclass(frozen=True)
class SweepConfig:
    """When lost work is found again."""

    interval: float = field(default=10.0, metadata={"min": 0.1})
    """Seconds between two rounds."""
    patience: int = field(default=30, metadata={"min": 1})
    """Seconds before a page that waits for a Document Worker is announced again."""
    audit_interval: float = field(default=3600.0, metadata={"min": 1})
    """Seconds between two comparisons of the index with the database; one follows each restart of searchd."""


@dataclass(frozen=True)
class WebConfig:
    """The web front."""

    listen: str = "127.0.0.1"
    port: int = field(default=8090, metadata={"min": 1, "max": 65535})
    title: str = "stacksearch"
    results: int = field(default=10, metadata={"min": 1, "max": 100})
    """Results on a page."""
    search_timeout: float = field(default=10.0, metadata={"min": 0.1})
    """Seconds to wait for a Search Worker."""
    submit_limit: int = field(default=1000, metadata={"min": 1})
    """URLs in one submission."""


@dataclass(frozen=True)
class Config:
    """The whole configuration."""

    database: DatabaseConfig = DatabaseConfig()
    queue: QueueConfig = QueueConfig()
    cache: CacheConfig = CacheConfig()
    index: IndexConfig = IndexConfig()
    fetch: FetchConfig = FetchConfig()
    crawl: CrawlConfig = CrawlConfig()
    sweep: SweepConfig = SweepConfig()
    web: WebConfig = WebConfig()


def parse(data: object, *, name: str = "the configuration") -> Config:
    """The configuration in plain data; raises ConfigError that lists every error."""
    reader = Reader({Allowed: parse_allowed, Pattern: re.compile, Secret: Secret})
    config = reader.section(Config, data, "")
    if config is not None:
        try:
            ipaddress.ip_address(config.web.listen)
        except ValueError:
            reader.errors.append(f"web.listen: {config.web.listen!r} is not an address")
    if config is None or reader.errors:
        raise ConfigError("\n".join(f"{name}: {error}" for error in reader.errors))
    return config


def load(path: Path | None = None) -> Config:
    """The configuration of ``path``, else of $STACKSEARCH_CONFIG, else of /etc/stacksearch/stacksearch.yml.

    Raises ConfigError when the file cannot be read or holds an error.
    """
    file = path or Path(os.environ.get(PATH_VARIABLE) or DEFAULT_PATH)
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as failure:
        hint = f"set {PATH_VARIABLE} or use --config" if isinstance(failure, FileNotFoundError) else None
        raise ConfigError(f"{file}: {failure.strerror}", hint=hint) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: not UTF-8 text") from None
    except yaml.YAMLError as failure:
        mark = getattr(failure, "problem_mark", None)
        where = f":{mark.line + 1}" if mark else ""
        raise ConfigError(f"{file}{where}: not YAML: {getattr(failure, 'problem', failure)}") from None
    return parse(data, name=str(file))
