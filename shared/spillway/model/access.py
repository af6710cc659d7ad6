"""How to reach one cluster's API server. What it takes to find that out is the business of aws/access.py."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class Access:
    """`server` is a URL; `ca` the PEM of its certificate authority, "" for one that the system trusts.

    Either a bearer `token`, or `certificate` and `key` in PEM. `proxy` is a URL; with "" the environment decides.
    `tls_server_name` is the name in the server's certificate, "" for that in the URL. Made anew at every run and when it
    `ends`; None: nobody said when.
    """

    cluster: str
    server: str
    ca: str = ""
    token: str = field(default="", repr=False)
    certificate: str = ""
    key: str = field(default="", repr=False)
    proxy: str = field(default="", repr=False)  # it may hold a password
    tls_server_name: str = ""
    ends: datetime | None = None
