"""Write the agents' parts of docker-compose.yml: `python -m deploy.make_compose`.

Each registered agent has a container, a volume for its login, and that volume's place in `prepare`.
These stand between two comments each; everything else in the file is written by hand and stays.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from schemas.agents import agent_names

COMPOSE = Path(__file__).parents[1] / "docker-compose.yml"


def _login_mounts(agent: str) -> str:
    return f"      - login-agent-{agent}:/logins/agent-{agent}\n"


def _container(agent: str) -> str:
    return (
        f"  agent-{agent}:\n"
        "    <<: *service\n"
        f"    command: [services.agents, {agent}]\n"
        f'    volumes: ["login-agent-{agent}:/login:ro"]\n'
        "    environment: *paced\n"
    )


def _login_volume(agent: str) -> str:
    return f"  login-agent-{agent}: {{}}\n"


SECTIONS: Mapping[str, tuple[Callable[[str], str], str]] = {
    "agents' login mounts": (_login_mounts, ""),
    "agents' containers": (_container, "\n"),
    "agents' login volumes": (_login_volume, ""),
}
"""By name: what an agent contributes, and what stands between two of them."""


def with_agents(text: str, agents: Sequence[str]) -> str:
    """Return the content of docker-compose.yml for these agents.

    Raises:
        ValueError: a section's two comments are not both there, once.
    """
    for name, (write, between) in SECTIONS.items():
        marked = re.compile(
            rf"(^ *# begin {name}[^\n]*\n)(?:.*?)(^ *# end {name}\n)", re.DOTALL | re.MULTILINE
        )
        body = between.join(write(agent) for agent in agents)
        text, count = marked.subn(lambda found, body=body: found[1] + body + found[2], text)
        if count != 1:
            raise ValueError(
                f"docker-compose.yml: {count} sections '# begin {name}', one is needed"
            )
    return text


def main() -> int:
    """Write the file."""
    content = COMPOSE.read_text(encoding="utf-8")
    COMPOSE.write_text(with_agents(content, agent_names()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
