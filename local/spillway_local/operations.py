"""Operations of AWS services and the permissions that IAM asks for them, from botocore's service models."""

from collections.abc import Mapping
from functools import cache

from botocore import xform_name
from botocore.loaders import Loader
from botocore.model import ServiceModel

# IAM's prefix is the service's signing name, but for these (Service Authorization Reference).
_PREFIXES = {"monitoring": "cloudwatch"}

# Operations that IAM knows by other names, or not at all.
_PERMISSIONS: Mapping[str, tuple[str, ...]] = {
    # a transaction needs what its items do: DynamoDB developer guide, "IAM and transactions"; ours are one check, one put
    "dynamodb.transact_write_items": ("dynamodb:ConditionCheckItem", "dynamodb:PutItem"),
    "sts.get_caller_identity": (),  # needs no permission: STS API reference, GetCallerIdentity
}


@cache
def _model(service: str) -> ServiceModel:
    return ServiceModel(Loader().load_service_model(service, "service-2"), service)


@cache
def operations(service: str) -> Mapping[str, str]:
    """API names by the client's method names, as in `{"describe_instances": "DescribeInstances"}`."""
    return {xform_name(name): name for name in _model(service).operation_names}


def permissions(operation: str) -> tuple[str, ...]:
    """IAM actions that `service.method` needs, as in `("ec2:DescribeInstances",)`."""
    if operation in _PERMISSIONS:
        return _PERMISSIONS[operation]
    service, _, method = operation.partition(".")
    prefix = _model(service).signing_name
    return (f"{_PREFIXES.get(prefix, prefix)}:{operations(service)[method]}",)
