// Nothing: the target Programs only names the programs that scripts/build-release builds at once.
