"""The role of the account that the groups are in, where that is not our own.

Source: IAM user guide, "Methods to assume a role"; botocore.credentials.RefreshableCredentials, which renews an hour's
credentials in their last quarter, in whichever thread signs next.
"""

from botocore.credentials import DeferredRefreshableCredentials

from spillway import clock
from spillway.aws import clients
from spillway.env import Env

_SESSION = "spillway"


def take_on(env: Env) -> None:
    """From here on the fleet is asked as `env.fleet_role`, as ourselves where that is "". Calls nothing yet.

    Where the role may not be assumed each call raises AwsForbidden, of sts:AssumeRole.
    """

    def assume() -> dict[str, str]:
        found = clients.ask("sts", env.home_region, "assume_role", RoleArn=env.fleet_role, RoleSessionName=_SESSION)[
            "Credentials"
        ]
        return {
            "access_key": found["AccessKeyId"],
            "secret_key": found["SecretAccessKey"],
            "token": found["SessionToken"],
            "expiry_time": found["Expiration"].isoformat(),
        }

    def credentials() -> DeferredRefreshableCredentials:
        return DeferredRefreshableCredentials(assume, method="assume-role", time_fetcher=lambda: clock.utcnow())

    clients.act_as(env.fleet_role, credentials)
