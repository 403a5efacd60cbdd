"""The JSON encoder of the API."""

from __future__ import annotations

import msgspec

encode = msgspec.json.Encoder(enc_hook=str).encode
