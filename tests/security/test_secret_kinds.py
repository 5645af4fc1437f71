"""Every known kind of secret in every surrounding in which people and programs write it; and ordinary texts, in none.

The tokens are made at run time from their published forms, so that no scanner takes this file for a leak.
"""

import base64
import json
import random
import string
import sysconfig
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from promptuary.base.text import count_masked
from promptuary.workspace.disk.secret_values import mask_secrets
from tests.conftest import TORTURE

ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "H": "0123456789abcdef",
    "W": string.ascii_letters + string.digits + "_-",
    "U": string.ascii_uppercase + string.digits,
    "L": string.ascii_lowercase + string.digits,
    "D": string.digits,
    "B": string.ascii_letters + string.digits + "+/",
    "32": string.ascii_uppercase + "234567",
    "58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
}

KINDS = """
    GitHub: ghp_ A36; gho_ A36; ghu_ A36; ghs_ A36; ghr_ A36; github_pat_ A22 _ A59
    GitLab: glpat- W20; glpat- W27 .01. L9; gldt- W20; glft- W20; glrt- W20; glrt-t1_ W27 .01. L9
    GitLab: glsoat- W20; glimt- W25; glagent- W50; gloas- H64; glptt- H40; glcbt-64_ W20; glffct- W20; GR1348941 W20
    Bitbucket: ATBB A32; BBDC- A44; ATCTT3xFfG A180 = U8
    Atlassian: ATATT3xFfGF0 W180 = U8
    Trello: ATTA A72
    Slack: xoxb- D12 - D13 - A24; xoxp- D12 - D12 - D13 - H32; xoxa-2- D12 - D12 - H32; xoxr- D12 - D12 - A24
    Slack: xoxe-1- A146; xoxs- D12 - D12 - D12 - H32; xoxe.xoxp-1- A163; xapp-1-A U10 - D13 - H64
    Slack webhook: https://hooks.slack.com/services/T U8 /B U10 / A24
    Discord: MTE0 A20 . W6 . W38; NzkyNzE1NDU0MTk2MDg4ODQy.X-hvzA. W27
    Discord webhook: https://discord.com/api/webhooks/ D18 / A68
    Teams webhook: https://acme.webhook.office.com/webhookb2/ UUID @ UUID /IncomingWebhook/ H32 / UUID
    Telegram: D9 :AA W33; D10 :AA W33
    Stripe: sk_live_ A24; sk_test_ A99; rk_live_ A99; rk_test_ A24; whsec_ A32
    Square: sq0atp- W22; sq0csp- W43; EAAA A60
    Shopify: shpat_ H32; shpss_ H32; shpca_ H32; shppa_ H32
    Google: AIza W35; AIzaSy W33; GOCSPX- W28; ya29. W120; 1//0 W60
    Firebase: AAAA W7 :APA91b W134
    Anthropic: sk-ant-api03- W93 AA; sk-ant-admin01- W93 AA; sk-ant-oat01- W93 AA
    OpenAI: sk-proj- W74 T3BlbkFJ W74; sk-svcacct- W58 T3BlbkFJ W58; sk-admin- W58 T3BlbkFJ W58
    OpenAI: sk- A20 T3BlbkFJ A20; sk- A48
    OpenRouter: sk-or-v1- H64
    DeepSeek: sk- H32
    Groq: gsk_ A52
    xAI: xai- A80
    Replicate: r8_ A37
    Perplexity: pplx- A48
    Hugging Face: hf_ A34; api_org_ A34
    Promptuary: pt_ H12 _ H48
    NVIDIA: nvapi- W64
    Together: tgp_v1_ W43
    Pinecone: pcsk_ A5 _ A63
    LangSmith: lsv2_pt_ H32 _ H10; lsv2_sk_ H32 _ H10
    Langfuse: sk-lf- UUID
    ElevenLabs: sk_ H48
    Cerebras: csk- A48
    Firecrawl: fc- H32
    Tavily: tvly-dev- A32
    AWS: AKIA 32_16; ASIA 32_16; ABSK B132
    Azure: A3 8Q~ A34; A76 AZDO A4; A52 JQQJ99 A22; A42 AzSeA A5; B42 +ACRA A5
    Alibaba: LTAI A20
    Yandex: AQVN W36
    Cloudflare: v1.0- H24 - H146; cfut_ A40 H8
    DigitalOcean: dop_v1_ H64; doo_v1_ H64; dor_v1_ H64
    Netlify: nfp_ A36
    Vercel: vcp_ A56; vck_ A56; vercel_blob_rw_ A16 _ A30
    Fly: fo1_ W43; fm2_ B400; fm1r_ B200
    Heroku: HRKU-AA W58
    Render: rnd_ A32
    PlanetScale: pscale_tkn_ W43; pscale_pw_ W43; pscale_oauth_ W43
    Neon: napi_ L64
    Supabase: sbp_ H40; sb_secret_ W31
    Databricks: dapi H32; dapi H32 -2
    Linear: lin_api_ A40; lin_oauth_ H64
    Notion: ntn_ D11 A35; secret_ A43
    Figma: figd_ W40; figp_ W48
    Doppler: dp.pt. A43; dp.st.dev. A43; dp.ct. A43; dp.sa. A40
    Tailscale: tskey-auth-k L9 CNTRL- A32; tskey-api-k L9 CNTRL- A32
    Grafana: glsa_ A32 _ H8; glc_eyJ B80; eyJrIjoi A80
    New Relic: NRAK- U27; NRII- W32; NRJS- H19; NRIQ- W32; H32 FFFFNRAL
    Buildkite: bkua_ H40; bkct_ A40
    Sentry: sntryu_ H64; sntrys_eyJpYXQiO B120 _ B43
    Postman: PMAK- H24 - H34
    Twilio: SK H32
    SendGrid: SG. W22 . W43
    Mailgun: key- H32; H32 - H8 - H8
    Mailchimp: H32 -us12
    Brevo: xkeysib- H64 - A16; xsmtpsib- H64 - A16
    Resend: re_ A8 _ A24
    npm: npm_ A36
    PyPI: pypi-AgEIcHlwaS5vcmc W150
    RubyGems: rubygems_ H48
    NuGet: oy2 L43
    crates.io: cio A32
    Clojars: CLOJARS_ L60
    Docker: dckr_pat_ W27; dckr_oat_ W32
    Vault: hvs. A90; hvs. W24; hvb. W140
    Terraform: A14 .atlasv1. W67
    Pulumi: pul- H40
    age: AGE-SECRET-KEY-1 U58
    1Password: A3- U6 - U6 - U5 - U5 - U5 - U5; ops_eyJ B300
    Bitwarden: 0. UUID . A30 : B22 ==
    HubSpot: pat-na1- UUID; pat-eu1- UUID
    Plaid: access-production- UUID; access-sandbox- UUID
    Airtable: pat A14 . H64
    Asana: 1/ D16 : H32; 2/ D16 / D16 : H32
    Dropbox: sl. W136
    Intercom: dG9rO B50 =
    Mapbox: sk.eyJ1Ijoi A60 . W22
    Sonar: squ_ H40; sqp_ H40; sqa_ H40
    Snyk: snyk_uat.12345678. B60
    CircleCI: CCIPAT_ A22 _ H40
    OpenShift: sha256~ W43
    Dynatrace: dt0c01. U24 . U64
    PostHog: phx_ A43
    Typeform: tfp_ W59
    Contentful: CFPAT- W43
    Prefect: pnu_ A36
    Readme: rdme_ L70
    Apify: apify_api_ A36
    Deno: ddp_ A36
    Shippo: shippo_live_ H40
    Duffel: duffel_live_ W43
    Frame.io: fio-u- W64
    Flutterwave: FLWSECK- L32 -X
    Razorpay: rzp_live_ A14
    Honeycomb: hcaik_ L58
    Sourcegraph: sgp_ H40; sgp_ H16 _ H40; slk_ H64
    Axiom: xaat- UUID
    WakaTime: waka_ UUID
    Artifactory: AKCp A69; cmVmdGtu A56
    EasyPost: EZAK A54
    Facebook: EAAC A180
    Octopus: API- U26
    Infracost: ico- A32
    Harness: pat. W22 . A24 . A20
    MaxMind: A6 _ A29 _mmk
    Zoho: 1000. H32 . H32
    Adobe: p8e- A32
    Bitcoin: xprv 58_107
    JSON web token: eyJ A30 .eyJ W60 . W43; eyJ A30 .eyJ W200 . W342
"""


def made(form: str, chance: random.Random) -> str:
    """Return a token: the words of ``form`` are characters of an alphabet and how many, a UUID, or as they are."""
    parts = []
    for word in form.split():
        name, _, size = word.partition("_") if word[:3] in {"32_", "58_"} else (word[:1], "", word[1:])
        if word == "UUID":
            parts.append("-".join("".join(chance.choices(ALPHABETS["H"], k=k)) for k in (8, 4, 4, 4, 12)))
        elif name in ALPHABETS and size.isdigit():
            parts.append("".join(chance.choices(ALPHABETS[name], k=int(size))))
        else:
            parts.append(word)
    return "".join(parts)


FORMS = [
    (kind.strip(), form.strip())
    for line in KINDS.strip().splitlines()
    for kind, _, forms in (line.partition(":"),)
    for form in forms.split(";")
]


def percent(token: str) -> str:
    return "callback?next=%2F&key%3D" + quote(token, safe="~") + "%26x%3D1"


SURROUNDINGS: dict[str, Callable[[str], str]] = {
    "nothing around": lambda token: token,
    "double quotes": lambda token: f'key = "{token}"\n',
    "single quotes": lambda token: f"key = '{token}'\n",
    "backquotes": lambda token: f"Use `{token}` for it.\n",
    "end of a sentence": lambda token: f"The key is {token}. Keep it.\n",
    "brackets": lambda token: f"(see {token}) [{token}] {{{token}}}\n",
    "shell export": lambda token: f"export API_KEY={token}\n",
    "shell command": lambda token: f"curl -H 'Authorization: Bearer {token}' https://example.org\n",
    "environment file": lambda token: f"A=1\nTOKEN={token}\nB=2\n",
    "YAML": lambda token: f"auth:\n  token: {token}\n  - {token}\n",
    "TOML": lambda token: f'[auth]\ntoken = "{token}"\n',
    "INI and CRLF": lambda token: f"[auth]\r\ntoken={token}\r\nx=1\r\n",
    "JSON": lambda token: json.dumps({"token": token}),
    "JSON after a line feed": lambda token: json.dumps({"text": f"A=1\n{token}\nB=2"}),
    "JSON after a tab": lambda token: json.dumps({"text": f"A\t{token}\tB"}),
    "JSON after a carriage return": lambda token: json.dumps({"text": f"A\r\n{token}\r\nB"}),
    "JSON in JSON": lambda token: json.dumps({"text": json.dumps({"text": f"A\n{token}\n"})}),
    "JSON with escaped signs": lambda token: f'{{"q": "key\\u003d{token}\\u0026b\\u003D{token}"}}',
    "an escaped byte": lambda token: f"b'key\\x3d{token}\\x00'",
    "percent-encoding": percent,
    "percent-encoding in lower case": lambda token: f"key%3d{token}%26b",
    "a query": lambda token: f"https://example.org/?a=1&key={token}&b=2#x",
    "a URL with a login": lambda token: f"https://user:{token}@example.org/a",
    "a path": lambda token: f"https://example.org/bot/{token}/send",
    "underscores": lambda token: f"x_{token}_ and _{token}_",
    "Markdown": lambda token: f"**{token}** and [key]({token})\n```\n{token}\n```\n",
    "a table": lambda token: f"| key | {token} |\n",
    "CSV": lambda token: f'name,key\nada,{token}\n"b","{token}"\n',
    "XML": lambda token: f'<key value="{token}">{token}</key>',
    "entities": lambda token: f"&quot;{token}&quot; &#61;{token}&amp;x",
    "a diff": lambda token: f"@@ -1 +1 @@\n-{token}\n+{token}\n",
    "a log": lambda token: f"2026-01-01T00:00:00Z INFO auth ok token={token} ms=12\n",
    "colours": lambda token: f"key: \x1b[32m{token}\x1b[0m\n",
    "quoted-printable": lambda token: f"key=3D{token}=20x",
    "zero-width characters": lambda token: f"a\u200b{token}\u200bb \ufeff{token}\u2060",
    "other scripts": lambda token: f"密钥{token}。пароль{token}",
    "guillemets": lambda token: f"«{token}» “{token}”",
    "a comment": lambda token: f"x = 1  # {token}\n// {token}\n/* {token} */",
    "a tool result": lambda token: f"$ env\nSHELL=/bin/sh\nKEY={token}\n(exit 0)",
    "a long line": lambda token: f"{'x = compute(a, b); ' * 200}{token} {'y ' * 200}",
}


def test_there_are_enough_kinds_and_surroundings_to_mean_something() -> None:
    assert len({kind for kind, _ in FORMS}) >= 100
    assert len(SURROUNDINGS) >= 30


@pytest.mark.parametrize("surrounding", SURROUNDINGS)
def test_a_secret_of_any_kind_is_masked_wherever_it_stands(surrounding: str) -> None:
    chance = random.Random(surrounding)
    passed = []
    for _ in range(20 if TORTURE else 2):
        for kind, form in FORMS:
            token = made(form, chance)
            secret = token[token.rfind("/", 0, -20) + 1 :] if "://" in token else token
            masked = mask_secrets(SURROUNDINGS[surrounding](token))
            if (
                secret in masked
                or secret[:-8] in masked
                or quote(secret, safe="~") in masked
                or not count_masked(masked)
            ):
                passed.append(f"{kind}: {form}: {token}")

    assert passed == []


@pytest.mark.parametrize("surrounding", SURROUNDINGS)
def test_masking_changes_nothing_around_a_secret(surrounding: str) -> None:
    token = made("ghp_ A36", random.Random(surrounding))
    text = SURROUNDINGS[surrounding](token)

    assert mask_secrets(text) == text.replace(token, "⟨masked: GitHub token⟩")


EXAMPLES = [
    "AKIA" + "IOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
    "ghp_" + "x" * 36,
    "ghp_" + "yourpersonalaccesstokengoesrighthere",
    "glpat-" + "your-access-token-here",
    "xoxb-" + "your-bot-token-goes-here",
    "sk-" + "X" * 48,
    "pat-na1-" + "00000000-0000-0000-0000-000000000000",
    "sk-estimator-with-a-very-long-name-2-of-scikit-learn-tree-view",
    "task-admin-panel-2024-with-a-slug-that-goes-on-and-on-for-60-letters",
    "risk_test_SomeLongCamelCaseNameOfATest1",
    "npm_config_registry_of_this_very_machine_here",
    "sha256=glc_" + "FZMyib4OhW7RQ42vav9er5-jeLUo8K4wfDaFsu8",
    "sha256:" + "0123456789abcdef" * 4,
    "https://user:password@example.org/ and postgres://postgres:postgres@localhost:5432/app",
    "heroku_api_key = os.environ['HEROKU_API_KEY_OF_THIS_APPLICATION']",
    "TWILIO_AUTH_TOKEN=${TWILIO_AUTH_TOKEN_FROM_VAULT_2}",
    'github_token: "your_github_token_goes_here"',
    "MultiHeadAttentionWithBias.config.num_key_value_heads_of_layer",
    "550e8400-e29b-41d4-a716-446655440000",
    "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_or_a_name_is_no_secret(text: str) -> None:
    assert mask_secrets(text) == text


NAMED = {
    "aws_secret_access_key = {}": "B40",
    '"SecretAccessKey": "{}"': "B40",
    "AWS_SESSION_TOKEN={}": "B300",
    "AccountName=x;AccountKey={}==;EndpointSuffix=core.windows.net": "B86",
    "Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey={}=": "B43",
    "https://x.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig={}%3D": "A43",
    "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature={}": "H64",
    "//registry.example.org/:_authToken={}": "UUID",
    "[Interface]\nPrivateKey = {}=": "B43",
    "Authorization: SSWS {}": "00 W40",
    "TWILIO_AUTH_TOKEN={}": "H32",
    "datadog_api_key: {}": "H32",
    'heroku_api_key = "{}"': "UUID",
    "CLOUDFLARE_API_TOKEN={}": "A40",
    'algoliaAdminApiKey: "{}"': "H32",
    "OKTA_API_TOKEN=00{}": "W40",
    "SNYK_TOKEN={}": "UUID",
    "TRAVIS_API_TOKEN={}": "A22",
    "RAILWAY_TOKEN={}": "UUID",
    "PAGERDUTY_TOKEN=u+{}": "A18",
    "postgresql://neondb_owner:{}@ep-x.neon.tech/db": "npg_ A12",
    "mongodb+srv://app:{}@cluster0.example.mongodb.net": "A20",
}


@pytest.mark.parametrize("place", NAMED)
def test_a_value_without_a_form_of_its_own_is_masked_by_its_name(place: str) -> None:
    chance = random.Random(place)
    for _ in range(50):
        value = made(NAMED[place], chance)
        if sum(map(str.isdigit, value)) > 2 and (
            "H" in NAMED[place] or value.swapcase() not in {value.upper(), value.lower()}
        ):
            masked = mask_secrets(place.format(value))
            assert value not in masked, value
            assert masked.startswith(place.partition("{")[0][:10])


ENCODED = base64.b64encode(b"-----BEGIN EC PRIVATE" + b" KEY-----\n" + b"MHcCAQEEIA1b2C3d" * 8).decode()
CERTIFICATE = base64.b64encode(b"-----BEGIN CERTIFICATE-----\n" + b"MIIBszCCAVmgAwIB" * 8).decode()


def test_a_private_key_in_base64_is_masked_and_a_certificate_is_not() -> None:
    text = f"data:\n  tls.crt: {CERTIFICATE}\n  tls.key: {ENCODED}\n"

    assert mask_secrets(text) == f"data:\n  tls.crt: {CERTIFICATE}\n  tls.key: ⟨masked: private key⟩\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n", "Private-MAC: 00\n"),
        ("---- BEGIN SSH2 ENCRYPTED PRIVATE" + " KEY ----\n", "---- END SSH2 ENCRYPTED PRIVATE" + " KEY ----\n"),
        ("-----BEGIN OpenVPN Static" + " key V1-----\n", "-----END OpenVPN Static" + " key V1-----\n"),
    ],
)
def test_other_forms_of_private_keys_are_masked(before: str, after: str) -> None:
    line = made("H32", random.Random(before)) * 2

    masked = mask_secrets(f"{before}{line}\n{after}")

    assert line not in masked
    assert count_masked(masked) == 1
    assert masked.endswith(after)


def read_texts(*folders: Path) -> list[tuple[Path, str]]:
    files = (path for folder in folders for path in sorted(folder.rglob("*.py")) if "test" not in str(path.parent))
    return [(path, path.read_text("utf-8", "replace")) for path in files if path.stat().st_size < 1_000_000]


def test_nothing_in_the_standard_library_is_taken_for_a_secret() -> None:
    texts = read_texts(
        Path(sysconfig.get_paths()["stdlib"]) / "asyncio", Path(sysconfig.get_paths()["stdlib"]) / "email"
    )

    assert sum(text.count("\n") for _, text in texts) > 15_000
    assert [path for path, text in texts if mask_secrets(text) != text] == []


@pytest.mark.torture
@pytest.mark.skipif(not TORTURE, reason="reads everything that is installed")
def test_nothing_that_is_installed_is_taken_for_a_secret() -> None:
    paths = sysconfig.get_paths()
    texts = read_texts(Path(paths["stdlib"]), Path(paths["purelib"]))
    lines = sum(text.count("\n") for _, text in texts)
    alarms = [path for path, text in texts if mask_secrets(text) != text]

    print(f"{lines:,} lines in {len(texts):,} files: {len(alarms)} with a secret: {[one.name for one in alarms]}")
    assert lines > 200_000
    # A few packages bring keys as examples.
    assert len(alarms) <= len(texts) / 1_000
