# Images: `make` builds and pushes them. Where to, these say; export them, or name them: make INSTALLER=registry.example.com/installer:1
SERVICE ?= quay.io/assisted/assisted:latest
AGENT ?= quay.io/assisted/assisted-installer-agent:latest
INSTALLER ?= quay.io/assisted/assisted-installer:latest
CONTROLLER ?= quay.io/assisted/assisted-installer-controller:latest
# Further arguments, such as ARGS="--only installer --arch x86_64,aarch64"; OC and SIGN_KEY are read as well (make help).
ARGS ?=
CARGO ?= cargo
export SERVICE AGENT INSTALLER CONTROLLER OC SIGN_KEY BUNDLE

.DEFAULT_GOAL := push
.PHONY: push images release test help

push: ## build the images and push them
	$(CARGO) xtask images --push $(ARGS)

images: ## build the images, into target/images
	$(CARGO) xtask images $(ARGS)

release: ## make everything that is shipped, into dist
	$(CARGO) xtask release $(ARGS)

test: ## what CI runs
	$(CARGO) xtask test $(ARGS)

help: ## show this
	@sed -n 's/^\([a-z]*\): ## \(.*\)/make \1: \2/p' $(MAKEFILE_LIST)
	@echo
	@echo 'SERVICE    image of the service     $(SERVICE)'
	@echo 'AGENT      image of the agent       $(AGENT)'
	@echo 'INSTALLER  image of the installer   $(INSTALLER)'
	@echo 'CONTROLLER image of the controller  $(CONTROLLER)'
	@echo 'OC         static oc for the controller: must-gather needs it'
	@echo 'SIGN_KEY   private key (PEM, P-256) that signs'
	@echo 'BUNDLE     image of the bundle for OLM; empty: not pushed'
