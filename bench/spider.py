"""Scrapy on the site: the same rules for links, the same things taken from each page (title, text, links)."""

import json
import resource
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

START, RESULT = sys.argv[1:3]


def cpu() -> float:
    """User and system time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Manual(scrapy.Spider):
    """Follows every link of the host."""

    name = "manual"
    links = LinkExtractor(allow_domains=[urlsplit(START).netloc])
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
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)


process = CrawlerProcess(
    {
        "LOG_LEVEL": "ERROR",
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "DOWNLOAD_DELAY": 0,
        "DEPTH_LIMIT": 10,
        "RETRY_ENABLED": False,
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
    }
)
wall, used = time.monotonic(), cpu()
process.crawl(Manual)
process.start()
Path(RESULT).write_text(json.dumps({"pages": Manual.pages, "wall": time.monotonic() - wall, "cpu": cpu() - used}))
