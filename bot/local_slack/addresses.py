"""The addresses beside the Web API: answers to response_urls, uploads, and files to download."""

import asyncio
import mimetypes
from dataclasses import dataclass
from urllib.parse import quote

from aiohttp import web

from bot.local_slack.faults import Faults, dropped
from bot.local_slack.file_methods import receive_upload, visible_file
from bot.local_slack.limits import Refusal
from bot.local_slack.methods import Parts

LOGIN_PAGE = "<!DOCTYPE html><title>Sign in to Slack</title><p>Sign in to see this file.</p>"


@dataclass
class Addresses:
    parts: Parts
    faults: Faults

    async def respond(self, request: web.Request) -> web.Response:
        """POST /response/{token}: 200, 404 once it is spent, 400 for what Slack does not take."""
        try:
            body = await request.json()
            if not isinstance(body, dict):
                raise Refusal("invalid_payload")
            self.parts.response_urls.answer(request.match_info["token"], body)
        except ValueError:
            return web.Response(status=400, text="invalid_payload")
        except Refusal as refusal:
            status = 404 if refusal.code in ("expired_url", "used_url") else 400
            return web.json_response({"ok": False, "error": refusal.code}, status=status)
        return web.Response(text="ok")

    async def upload(self, request: web.Request) -> web.Response:
        """POST /upload/v1/{file}: the bytes, plain or in a form."""
        fault = self.faults.next_for("upload", {})
        if fault and fault.drop == "before":
            return dropped(request)
        if fault and fault.status:
            return web.Response(status=fault.status)
        if request.content_type == "multipart/form-data":
            fields = [one for one in (await request.post()).values() if isinstance(one, web.FileField)]
            content = fields[0].file.read() if fields else b""
        else:
            content = await request.read()
        try:
            receive_upload(self.parts, request.match_info["file"], content)
        except Refusal as refusal:
            return web.Response(status=400, text=str(refusal))
        if fault and fault.drop == "after":
            return dropped(request)
        return web.Response(text=f"OK - {len(content)}")

    async def download(self, request: web.Request) -> web.StreamResponse:
        """GET /files-pri/{team}-{file}/…: the bytes.

        Without the token or its scope Slack answers 200 with a page to sign in, and so does this.
        "download" is its name for faults; `drop="after"` breaks off in the middle of the bytes.
        """
        fault = self.faults.next_for("download", {})
        if fault and fault.delay:
            await asyncio.sleep(fault.delay)
        if fault and fault.drop == "before":
            return dropped(request)
        if fault and fault.status:
            return web.Response(status=fault.status)
        authorized = request.headers.get("Authorization") == f"Bearer {self.parts.app.bot_token}"
        if not authorized or "files:read" not in self.parts.app.scopes:
            return web.Response(text=LOGIN_PAGE, content_type="text/html")
        try:
            file = visible_file(self.parts, request.match_info["file"].rpartition("-")[2])
        except Refusal:
            return web.Response(status=404)
        content = file.content or b""
        response = web.StreamResponse(
            headers={
                "Content-Type": mimetypes.guess_type(file.name)[0] or "application/octet-stream",
                "Content-Length": str(len(content)),
                "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name)}",
            }
        )
        await response.prepare(request)
        if fault and fault.drop == "after":
            await response.write(content[: len(content) // 2])
            return dropped(request)
        await response.write(content)
        return response
