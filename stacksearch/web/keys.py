"""What the handlers find in the application."""

from aiohttp import web

from stacksearch.config import Config
from stacksearch.web.pages import Pages
from stacksearch.web.pool import Pool

CONFIG = web.AppKey("config", Config)
POOL = web.AppKey("pool", Pool)
PAGES = web.AppKey("pages", Pages)
