"""Servers that nobody here wrote: aimock and others from npm, nginx."""

import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

from harness.program import ROOT, clean_environment


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A child process that listens on `port` of the loopback."""

    def __init__(self, args, port, directory, scheme="http", env=None):
        self.port = port
        self.url = f"{scheme}://127.0.0.1:{port}"
        self.log = directory / f"server-{port}.log"
        with open(self.log, "wb") as log:
            self.popen = subprocess.Popen(
                args, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=directory, env=clean_environment(env))
        self._wait()

    def _wait(self, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.popen.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.close()
        raise AssertionError("did not start:\n" + self.log.read_text())

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=10) as answer:
            return answer.read().decode()

    def close(self):
        if self.popen.poll() is None:
            self.popen.terminate()
            try:
                self.popen.wait(10)
            except subprocess.TimeoutExpired:
                self.popen.kill()
                self.popen.wait()


def node_package(package, script, *args, directory, port, env=None):
    """`script` of an installed npm package, run by a Node new enough."""
    path = ROOT / "node_modules" / package / script
    assert path.exists(), f"{path} is missing: run `make node_modules`"
    return Server([str(ROOT / "tests" / "node.sh"), "node", str(path), *args],
                  port, directory, env=env)


def aimock(directory, fixtures, *flags):
    port = free_port()
    file = directory / f"aimock-{port}.json"
    file.write_text(json.dumps({"fixtures": fixtures}))
    return node_package(
        "@copilotkit/aimock", "dist/cli.js", "--port", str(port), "--host",
        "127.0.0.1", "--fixtures", str(file), "--log-level", "warn",
        *map(str, flags), directory=directory, port=port)


def mock_llm(directory):
    port = free_port()
    return node_package("@dwmkerr/mock-llm", "dist/main.js",
                        directory=directory, port=port,
                        env={"PORT": str(port), "HOST": "127.0.0.1"})


def openai_mock_api(directory, config):
    port = free_port()
    file = directory / f"openai-mock-api-{port}.yaml"
    file.write_text(config)
    return node_package("openai-mock-api", "dist/cli.js", "--config",
                        str(file), "--port", str(port), directory=directory,
                        port=port)


def certificate(directory, name="127.0.0.1", days=2):
    """A CA of our own and a certificate for `name`: (ca, cert, key)."""

    def openssl(*args):
        subprocess.run(["openssl", *args], cwd=directory, check=True,
                       capture_output=True)

    kind = "IP" if re.fullmatch(r"[\d.]+", name) else "DNS"
    (directory / "san.cnf").write_text(f"subjectAltName={kind}:{name}\n")
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem",
            "-days", str(days), "-subj", "/CN=stoke test CA")
    openssl("req", *new, "-keyout", "server.key", "-out", "server.csr",
            "-subj", f"/CN={name}")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey",
            "ca.key", "-CAcreateserial", "-days", str(days), "-out",
            "server.pem", "-extfile", "san.cnf")
    return tuple(directory / f for f in ("ca.pem", "server.pem", "server.key"))


NGINX = """
daemon off;
{user}
worker_processes 1;
pid {dir}/nginx.pid;
error_log {dir}/error.log warn;
events {{ worker_connections 1024; }}
http {{
  access_log {dir}/access.log;
  client_body_temp_path {dir}/body;
  proxy_temp_path {dir}/proxy;
  fastcgi_temp_path {dir}/fastcgi;
  uwsgi_temp_path {dir}/uwsgi;
  scgi_temp_path {dir}/scgi;
  default_type text/plain;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  {http}
  server {{
    listen 127.0.0.1:{port} {listen};
    {server}
    location / {{
      proxy_pass {upstream};
      {location}
    }}
  }}
}}
"""


def nginx(directory, upstream, *, tls=None, http="", server="", location=""):
    """A gateway in front of `upstream`, by default passing events through at
    once. `tls` is what `certificate` returned."""
    binary = shutil.which("nginx") or "/usr/sbin/nginx"
    port = free_port()
    home = directory / f"nginx-{port}"
    home.mkdir()
    if tls:
        server += f"ssl_certificate {tls[1]}; ssl_certificate_key {tls[2]};"
    (home / "nginx.conf").write_text(NGINX.format(
        dir=home, port=port, upstream=upstream, http=http, server=server,
        listen="ssl" if tls else "",
        location=location or "proxy_buffering off;",
        user=f"user {getpass.getuser()};" if os.getuid() == 0 else ""))
    return Server([binary, "-p", str(home), "-c", str(home / "nginx.conf"),
                   "-e", str(home / "error.log")], port, directory,
                  scheme="https" if tls else "http")
