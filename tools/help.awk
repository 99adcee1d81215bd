# Lists the targets of a Makefile: `##@ title` opens a group, `target: … ## text` is a line of it.
BEGIN { FS = ":.*## "; print "giusto: publish/subscribe in strict time" }
/^##@ / { printf "\n%s\n", substr($0, 5) }
/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $1, $2 }
END { print "\nSettings: PYTHON=python3.12 VENV=/path/of/environment GIUSTO_SEED=1 GIUSTO_CASES=10" }
