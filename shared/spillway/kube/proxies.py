"""The HTTP proxy on the way to the API server. Its URL may hold a password, so no error shows it."""

from typing import TYPE_CHECKING

from spillway.errors import AccessError

if TYPE_CHECKING:
    from kubernetes.client import Configuration

_FORMS = "it is no URL of an HTTP proxy: http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT"


def set_on(config: "Configuration", own: str, is_local: bool) -> None:
    """`own` is the URL of the access itself; with "" the environment decides, but for this machine, as `is_local` says, there
    is none. Raises AccessError.
    """
    from kubernetes.client.rest import should_bypass_proxies
    from urllib3.exceptions import LocationParseError
    from urllib3.util import make_headers, parse_url

    if own:
        config.no_proxy = ""
    elif is_local or should_bypass_proxies(config.host, config.no_proxy or ""):
        config.proxy = None
    url, field = (own, "proxy") if own else (config.proxy, "HTTPS_PROXY")
    if not url:
        return
    try:
        found = parse_url(url)
    except LocationParseError:
        found = None
    if found is None or found.scheme != "http" or not found.host:
        raise AccessError(field, _FORMS)
    config.proxy = found._replace(auth=None).url  # urllib3 itself sends no password that is in the URL
    config.proxy_headers = make_headers(proxy_basic_auth=found.auth_decoded_joined, proxy_basic_auth_encoding="utf-8")
