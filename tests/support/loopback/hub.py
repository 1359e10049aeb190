"""A hub of datasets: repositories are made, and commits keep the files that come with them.

It asks for all files within the commit. The real one wants large files in a storage of its own, which is reached
through a compiled library and not played here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from tests.support.loopback.dialects import Dialect, Parts, Route
from tests.support.loopback.faults import Fault
from tests.support.loopback.http import Request, Response


@dataclass
class Hub:
    """What the hub holds: datasets with their files, and the titles of commits."""

    token: str
    datasets: dict[str, dict[str, bytes]] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)
    commits: list[str] = field(default_factory=list)

    def dialect(self) -> Dialect:
        """How it is spoken to."""
        name = r"(?:/api)?/datasets/[\w.-]+/[\w.-]+"
        routes = {
            r"/api/repos/create": self._create,
            rf"{name}/preupload/\w+(?:\?.*)?": self._preupload,
            rf"{name}/commit/\w+(?:\?.*)?": self._commit,
            rf"{name}/tree/\w+(?:[/?].*)?": self._tree,
            rf"{name}(?:/revision/\w+)?(?:\?.*)?": self._info,
            r"/api/validate-yaml": lambda request, fault, parts: Response.of({"warnings": [], "errors": []}),
        }
        return Dialect(
            tuple(Route(re.compile(path), answer) for path, answer in routes.items()),
            lambda status, code, message: {"error": message},
        )

    def _create(self, request: Request, fault: Fault | None, parts: Parts) -> Response:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return Response.of({"error": "Invalid username or password."}, 401)
        wanted = request.json
        assert wanted["type"] == "dataset"
        name = f"{wanted['organization']}/{wanted['name']}" if wanted.get("organization") else wanted["name"]
        if wanted.get("private") or wanted.get("visibility") == "private":
            self.private.add(name)
        url = f"{parts.url}/datasets/{name}"
        if name in self.datasets:
            return Response.of({"error": "You already created this dataset repo", "url": url}, 409)
        self.datasets[name] = {}
        return Response.of({"url": url, "name": name, "id": name})

    def _preupload(self, request: Request, fault: Fault | None, parts: Parts) -> Response:
        files = [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in request.json["files"]]
        return Response.of({"files": files})

    def _commit(self, request: Request, fault: Fault | None, parts: Parts) -> Response:
        files = self.datasets[self._name(request)]
        for line in request.body.splitlines():
            entry = json.loads(line)
            value = entry["value"]
            match entry["key"]:
                case "header":
                    self.commits.append(value["summary"])
                case "file":
                    files[value["path"]] = base64.b64decode(value["content"])
                case "deletedFile":
                    del files[value["path"]]
        oid = f"{len(self.commits):040x}"
        return Response.of(
            {
                "success": True,
                "commitOid": oid,
                "commitUrl": f"{parts.url}/datasets/{self._name(request)}/commit/{oid}",
                "hookOutput": "",
            }
        )

    def _tree(self, request: Request, fault: Fault | None, parts: Parts) -> Response:
        files = self.datasets[self._name(request)]
        return Response.of(
            [
                {"type": "file", "path": path, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for path, data in files.items()
            ]
        )

    def _info(self, request: Request, fault: Fault | None, parts: Parts) -> Response:
        name = self._name(request)
        if name not in self.datasets:
            return Response.of({"error": "Repository not found"}, 404, {"x-error-code": "RepoNotFound"})
        siblings = [{"rfilename": path} for path in self.datasets[name]]
        return Response.of({"id": name, "sha": f"{len(self.commits):040x}", "private": False, "siblings": siblings})

    @staticmethod
    def _name(request: Request) -> str:
        found = re.match(r"(?:/api)?/datasets/([\w.-]+/[\w.-]+)", unquote(request.path))
        assert found, request.path
        return found[1]
