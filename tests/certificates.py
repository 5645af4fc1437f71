"""Certificates that nobody vouches for, made on the spot."""

import shutil
import subprocess
from pathlib import Path

import pytest


def make_certificate(folder: Path, host: str) -> Path:
    """Return a file with a key and its certificate for ``host``; ``cert.pem`` beside it is the certificate alone."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl to make a certificate")
    path = folder / "both.pem"
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"]
    files = ["-keyout", str(path), "-out", str(path.with_name("cert.pem"))]
    subprocess.run([openssl, "req", *kind, *names, *files], check=True, capture_output=True)
    path.write_bytes(path.read_bytes() + path.with_name("cert.pem").read_bytes())
    return path
