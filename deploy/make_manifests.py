"""Write deploy/kustomize and deploy/helm/foresail: `python -m deploy.make_manifests`.

Both come from `deploy/manifests`, which takes the processes from docker-compose.yml and the rights from the
functions behind `foresail rbac`. Files are committed; a test says when they are out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path

from deploy.manifests.files import all_files

ROOT = Path(__file__).parent


def main() -> int:
    """Write every file, and remove those that are no longer made."""
    made = all_files()
    for folder in {Path(name).parts[0] for name in made}:
        for old in sorted((ROOT / folder).rglob("*")):
            if old.is_file() and old.relative_to(ROOT).as_posix() not in made:
                old.unlink()
    for name, content in made.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
