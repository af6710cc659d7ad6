"""Prints what CloudFormation makes of a SAM template, so that a linter sees each real resource.

Runs in the SAM CLI's own environment (`uv tool run --from aws-sam-cli python transform.py template.yaml`): its translator
needs another pydantic than the layer. No account is asked: the managed policies that the translator would look up
are an empty list, since every role in the template is written out.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

PLACES = {"CodeUri": "s3://lint/code", "ContentUri": "s3://lint/layer", "DefinitionUri": "s3://lint/definition"}


def transform(text: str) -> dict[str, Any]:
    """The plain CloudFormation template of a SAM template; raises the translator's InvalidDocumentException."""
    yaml_parse = importlib.import_module("samcli.yamlhelper").yaml_parse
    parser = importlib.import_module("samtranslator.parser.parser").Parser()
    translator = importlib.import_module("samtranslator.translator.translator").Translator({}, parser)
    template = yaml_parse(text)
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        properties.update({key: place for key, place in PLACES.items() if key in properties})
    defaults = {name: given.get("Default", "example") for name, given in template["Parameters"].items()}
    result: dict[str, Any] = translator.translate(sam_template=template, parameter_values=defaults)
    return result


if __name__ == "__main__":
    print(json.dumps(transform(Path(sys.argv[1]).read_text(encoding="utf-8")), indent=1))
