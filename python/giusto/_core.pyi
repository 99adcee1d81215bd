"""Types of the native extension; `make lint` compares them with the build."""

SOURCE_DIGEST: str
PROFILE: str
