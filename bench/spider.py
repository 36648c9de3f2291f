"""Scrapy on the site: the same rules for links, the same things taken from each page (title, text, links).

Written to be quick, so that the comparison is none with a straw man: no LinkExtractor, and a link that is known makes
no request that Scrapy would have to drop.
"""

import json
import re
import resource
import sys
import time
from pathlib import Path
from typing import ClassVar
from urllib.parse import urldefrag, urljoin

import scrapy
from scrapy.crawler import CrawlerProcess

START, RESULT = sys.argv[1:3]
BINARY = re.compile(r"(?i)\.(png|jpe?g|gif|svg|ico|css|js|xml|dtd|gz|zip|pdf)$")


def cpu() -> float:
    """User and system time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Manual(scrapy.Spider):
    """Follows every link of the host."""

    name = "manual"
    known: ClassVar[set[str]] = {START}
    pages = 0
    start_urls = (START,)

    def parse(self, response):
        """Take title and text, follow links."""
        if not isinstance(response, scrapy.http.TextResponse):
            return
        type(self).pages += 1
        title = response.css("title::text").get()
        text = " ".join(response.xpath("string(//body)").get("").split())
        assert title is not None or text is not None
        for reference in response.xpath("//a/@href").getall():
            link = urldefrag(urljoin(response.url, reference.strip())).url
            if link not in self.known and link.startswith(START) and not BINARY.search(link):
                self.known.add(link)
                yield scrapy.Request(link, dont_filter=True)


process = CrawlerProcess(
    {
        "LOG_LEVEL": "ERROR",
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "DEPTH_LIMIT": 0,
        "RETRY_ENABLED": False,
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
    }
)
wall, used = time.monotonic(), cpu()
process.crawl(Manual)
process.start()
Path(RESULT).write_text(json.dumps({"pages": Manual.pages, "wall": time.monotonic() - wall, "cpu": cpu() - used}))
