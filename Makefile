# Every verb sets up what it needs: on a fresh machine Python 3.11, make and git are enough.
UV_VERSION := 0.13.9
TOOLS := .tools
UV := $(TOOLS)/bin/uv
# A machine that got here by git and pip has certificates of its own, perhaps those of a proxy as well.
export UV_SYSTEM_CERTS ?= 1
RUN := $(UV) run --locked --quiet
SAM_ENV := PATH="$(CURDIR)/$(TOOLS)/bin:$$PATH" SAM_CLI_TELEMETRY=0 AWS_DEFAULT_REGION=us-east-1
SAM_TOOL := $(SAM_ENV) $(UV) tool run --quiet --from aws-sam-cli==1.170.0
EXPORT := $(UV) export --locked --quiet --only-group layer --no-emit-project --no-header

.DEFAULT_GOAL := help

help: ## Show the verbs
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | expand -t 16

$(UV):
	@python3 -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

setup: $(UV) ## Install everything at the locked versions
	@$(UV) sync --locked --quiet

demo: setup ## Run the main job end to end in an emulated world (SEED= PODS= DRY= FAULTS=)
	@$(RUN) python -m spillway_local.demo $(if $(SEED),--seed $(SEED)) $(if $(PODS),--pods $(PODS)) $(if $(DRY),--dry) $(if $(FAULTS),--faults $(FAULTS))

test: setup ## Run the fast tests (ARGS="tests/planner -k taint")
	@MOTO_EC2_LOAD_DEFAULT_AMIS=false $(RUN) pytest --numprocesses auto --dist worksteal $(ARGS)

test-kills: setup ## End a run before and after every call that it makes, each with its own way on (a quarter of an hour)
	@MOTO_EC2_LOAD_DEFAULT_AMIS=false $(RUN) pytest --kills all --numprocesses auto --dist worksteal tests/world/test_kills.py $(ARGS)

test-cluster: setup ## Run what a real control plane judges (WORLDS=60 SEED=0 ARGS="tests/kube")
	@$(RUN) python -m spillway_local.control_plane build
	@MOTO_EC2_LOAD_DEFAULT_AMIS=false $(RUN) pytest --api-server real --numprocesses auto --maxprocesses 4 --dist worksteal $(ARGS)

control-plane: setup ## Run a real control plane for kubectl, until Ctrl-C
	@$(RUN) python -m spillway_local.control_plane run

invoke: setup ## Run one handler against the emulated world (FUNCTION=plan EVENT=events/plan.burst.json)
	@$(RUN) python -m spillway_local.invoke $(FUNCTION) $(EVENT)

features: setup ## Show each row of docs/features.md with and without a passing test
	@MOTO_EC2_LOAD_DEFAULT_AMIS=false $(RUN) python -m spillway_local.features

bench: setup ## Print the figures (ONLY=name)
	@$(RUN) python -m bench $(if $(ONLY),--only $(ONLY))

schema: setup ## Write the JSON Schemas of docs/schema
	@$(RUN) python -m spillway_local.schema

format: setup ## Rewrite the code in the house style
	@$(RUN) ruff format . && $(RUN) ruff check --fix .

lint: setup ## Check style, types, layers, templates and the state machine
	@$(RUN) ruff format --check .
	@$(RUN) ruff check .
	@$(RUN) mypy
	@$(RUN) lint-imports
	@$(EXPORT) | diff - shared/requirements.txt || (echo "shared/requirements.txt is behind uv.lock; run make requirements" && false)
	@$(RUN) cfn-lint template.yaml template-region.yaml
	@mkdir -p .cache
	@$(SAM_TOOL) python local/spillway_local/transform.py template.yaml > .cache/transformed.json
	@$(RUN) cfn-lint .cache/transformed.json
	@$(SAM_TOOL) sam validate --lint --template-file template.yaml
	@$(SAM_TOOL) sam validate --lint --template-file template-region.yaml
	@$(RUN) python -m spillway_local.lint_workflow statemachine/execute_plan.asl.json

requirements: setup ## Write the layer's requirements from uv.lock
	@$(EXPORT) > shared/requirements.txt

drainability: setup ## Write the rules of scale in into docs/drainability.md
	@$(RUN) python -m spillway_local.drainability

permissions: setup ## Write what each function may do at AWS into docs/iam.md
	@$(RUN) python -m spillway_local.iam

calls: setup ## Count the calls of AWS that a tick takes, and write them into docs/aws-calls.md
	@$(RUN) python -m spillway_local.fleet_calls

build: setup ## Build what is deployed into .aws-sam (no docker, no account)
	@$(SAM_TOOL) sam build

clean: ## Remove all that was built or installed here
	rm -rf .venv $(TOOLS) .aws-sam .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

.PHONY: help setup demo test test-kills test-cluster control-plane invoke features bench schema format lint requirements drainability permissions calls build clean
