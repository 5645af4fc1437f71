"""The forms of secrets: how the tokens of known services begin, and of what and how much they consist.

Data only; ``secret_values`` compiles what a text needs. No pattern matches a text in two ways, and every repetition
has a bound.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_UUID: Final = r"[A-Fa-f0-9]{8}-[A-Fa-f0-9]{4}-[A-Fa-f0-9]{4}-[A-Fa-f0-9]{4}-[A-Fa-f0-9]{12}"
_SLASH: Final = r"(?:\\?/|%2[Ff])"
_IS: Final = r"[\"']?[ \t]{0,9}(?:[:=]|%3[Dd]|\\u003[Dd])[ \t]{0,9}\\?[\"']?"


class Form(NamedTuple):
    """What a secret is called in its mask, and how it is recognised.

    A text with such a secret has one of ``literals`` in a long word; without literals, every long word is compared.
    The group "value" of ``pattern`` is what is masked, else all of it. ``apart``: words and base64 may look like
    this, too, so no letter precedes it, and it ends where the pattern does. ``before`` is how many characters before
    the match belong to the secret.
    """

    what: str
    literals: tuple[str, ...]
    pattern: str
    apart: bool = False
    before: int = 0


_BODIES: Final = """
    GitHub token | ghp_ gho_ ghu_ ghs_ ghr_ | A{36,255}
    GitHub token | github_pat_ | [A-Za-z0-9_]{36,255}
    GitLab token | glpat- gldt- glft- glrt- glrtr- glsoat- glffct- glimt- | W{20,300}(?:\\.[0-9a-z]{2}\\.[0-9a-z]{7,9})?
    GitLab token | glagent- gloas- glptt- glcbt- glwt- GR1348941 | W{20,300}
    Bitbucket token | ATBB BBDC- ATCTT3 | [A-Za-z0-9_=+/@%-]{24,400} | apart
    Atlassian token | ATATT3 ATSTT3 | [A-Za-z0-9_=+/%-]{40,400}
    Trello token | ATTA | A{60,80} | apart
    Slack token | xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe- xoxc- xoxd- xoxe.xoxb- xoxe.xoxp- | [A-Za-z0-9%/+-]{20,400}
    Slack token | xapp- | \\d-[A-Za-z0-9]{8,20}-\\d{8,20}-[A-Za-z0-9]{40,255}
    Stripe secret | whsec_ | [A-Za-z0-9+/=%]{32,255}
    Google token | GOCSPX- | W{28,40}
    Google token | ya29. | [A-Za-z0-9_.-]{40,2048}
    Firebase key | :APA91b APA91b | W{100,200}
    Groq key | gsk_ | A{40,64}
    xAI key | xai- | W{60,100}
    Perplexity key | pplx- | A{40,64}
    NVIDIA key | nvapi- | W{50,80}
    Together key | tgp_v1_ | W{40,64}
    Pinecone key | pcsk_ | A{5,7}_A{50,70}
    Jina key | jina_ | A{50,80}
    Tavily key | tvly- | W{24,60}
    LangSmith key | lsv2_pt_ lsv2_sk_ | H{32}_H{10}
    Hugging Face token | api_org_ | A{34,40}
    Weights & Biases key | wandb_v1_ | W{40,100}
    AWS Bedrock key | ABSK | [A-Za-z0-9+/%]{100,300}={0,2} | apart
    AWS Bedrock key | bedrock-api-key- | [A-Za-z0-9+/=%]{40,4000}
    Amazon key | amzn.mws. | UUID
    Amazon key | amzn1.oa2-cs.v1. | H{64}
    Alibaba key | LTAI | A{16,24} | apart
    Yandex token | y0_ | W{50,60} | apart
    Cloudflare token | cfut_ cfat_ cfk_ | A{40,60}
    Cloudflare key | v1.0- | H{24}-H{146}
    DigitalOcean token | dop_v1_ doo_v1_ dor_v1_ | H{64}
    Netlify token | nfp_ nfc_ nfo_ nfu_ nfb_ | A{36,40}
    Vercel token | vercel_blob_rw_ | A{12,20}_A{20,60}
    Fly token | fo1_ fm1r_ fm1a_ fm2_ | [A-Za-z0-9+/=,_%-]{43,1000}
    Heroku key | HRKU- | W{36,80}
    Render key | rnd_ | A{28,40} | apart
    PlanetScale secret | pscale_tkn_ pscale_pw_ pscale_oauth_ | [\\w=.-]{32,64}
    Neon key | napi_ | A{40,80}
    Supabase key | sbp_ | (?:v0_)?H{40}
    Supabase key | sb_secret_ | W{20,60}
    Databricks token | dapi | H{32}(?:-\\d)? | apart
    Linear key | lin_api_ lin_oauth_ lin_wh_ | A{32,64}
    Notion token | ntn_ | A{40,60}
    Figma token | figd_ figp_ figo_ figc_ figu_ figh_ | [\\w=-]{40,60}
    Doppler token | dp.pt. dp.ct. dp.st. dp.sa. dp.said. dp.scim. dp.audit. | (?:[a-z0-9_-]{2,35}\\.)?A{40,44}
    Square token | sq0atp- sq0csp- | W{22,60}
    Tailscale key | tskey-auth- tskey-api- tskey-client- tskey-scim- tskey-webhook- | A{6,30}-A{16,60}
    Grafana token | glsa_ glc_ | [A-Za-z0-9+/_=%-]{32,400}
    New Relic key | NRAK- NRII- NRIQ- NRRA- NRJS- NRBR- NRSP- | W{19,42}
    Buildkite token | bkua_ bkut_ bkat_ bkct_ bkaj_ bkpat_ | A{32,64}
    Sentry token | sntrys_ sntryu_ sntrya_ sntryi_ | [A-Za-z0-9+/=_%-]{60,400}
    Postman key | PMAK- | H{24}-H{34}
    Brevo key | xkeysib- xsmtpsib- | H{64}-A{16}
    Resend key | re_ | A{6,12}_A{20,32} | apart
    Shopify token | shpat_ shpss_ shpca_ shppa_ shpua_ | H{32}
    PyPI token | pypi-AgE | W{50,1024}
    RubyGems key | rubygems_ | H{48}
    Clojars token | CLOJARS_ | A{60}
    Docker token | dckr_pat_ dckr_oat_ | W{27,64}
    Vault token | hvs. hvb. hvr. | W{24,300}
    Pulumi token | pul- | H{40} | apart
    age key | AGE-SECRET-KEY-1 | [0-9A-Z]{58}
    1Password key | A3- | [A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3} | apart
    1Password token | ops_eyJ | [A-Za-z0-9+/=_%-]{60,4000}
    HubSpot token | pat-na1- pat-na2- pat-eu1- pat-ap1- | UUID
    Plaid token | access-production- access-development- access-sandbox- | UUID
    Sonar token | squ_ sqp_ sqa_ sqco_ | A{40,60}
    Snyk token | snyk_uat. snyk_sat. | [\\w.+/=%-]{30,400}
    CircleCI token | CCIPAT_ CCIPRJ_ | A{20,24}_H{40}
    OpenShift token | sha256~ | W{43}
    Dynatrace token | dt0c01. dt0s01. dt0s02. dt0s16. | A{8,24}\\.A{64}
    PostHog key | phx_ phs_ | A{36,60}
    Typeform token | tfp_ | [\\w.=-]{40,70}
    Contentful token | CFPAT- | W{40,64}
    Prefect key | pnu_ pnb_ | A{36}
    Readme key | rdme_ | [a-z0-9]{60,80}
    Apify token | apify_api_ | A{30,40}
    Adafruit key | aio_ | A{28} | apart
    Deno token | ddp_ ddw_ ddo_ | A{36}
    Shippo token | shippo_live_ shippo_test_ | H{40}
    Duffel token | duffel_live_ duffel_test_ | W{43}
    Frame.io token | fio-u- | W{64}
    Flutterwave key | FLWSECK- FLWSECK_TEST- | A{32}-X
    Razorpay key | rzp_live_ | A{14} | apart
    Honeycomb key | hcaik_ hcxik_ hcalk_ | [a-z0-9]{50,64}
    Sourcegraph token | sgp_ slk_ | (?:A{5,16}_)?H{40,64}
    Axiom token | xaat- xapt- | UUID
    WakaTime key | waka_ | UUID
    Artifactory key | AKCp | A{69} | apart
    Artifactory token | cmVmdGtu | A{56} | apart
    Inngest key | signkey-prod- signkey-test- | H{32,64}
    Defined token | dnkey- | W{26}-W{52}
    Bitcoin key | xprv yprv zprv | [1-9A-HJ-NP-Za-km-z]{107} | apart
    Facebook token | EAA | [A-Za-z0-9]{100,400} | apart
    Instagram token | IGQV IGAA | W{100,400} | apart
    AWS access key | AKIA ASIA ABIA ACCA | [A-Z2-7]{16}(?<!EXAMPLE) | apart
    Google key | AIza | W{35} | apart
    Google key | AQ.Ab | W{40,100} | apart
    Google token | 1//0 1%2F%2F0 1%2f%2f0 | W{40,200} | apart
    Anthropic key | sk-ant- | [a-z0-9]{2,12}-W{40,255} | apart
    OpenAI key | sk-proj- sk-svcacct- sk-service- sk-admin- sk-None- sess- | W{40,255} | apart
    OpenRouter key | sk-or-v1- sk-or- | H{64} | apart
    Langfuse key | sk-lf- | UUID | apart
    OpenAI key | sk- csk- | A{32,64} | apart
    ElevenLabs key | sk_ | H{48} | apart
    Stripe key | sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ sk_org_live_ | A{20,255} | apart
    Voyage key | pa- | W{43} | apart
    Firecrawl key | fc- | H{32} | apart
    Replicate token | r8_ | A{37,40} | apart
    Promptuary token | pt_ | H{12}_H{48}
    Hugging Face token | hf_ | A{34,40} | apart
    npm token | npm_ | A{36} | apart
    Notion token | secret_ | A{43} | apart
    Vercel token | vcp_ vci_ vca_ vcr_ vck_ | A{24,60} | apart
    SendGrid key | SG. | W{20,24}\\.W{39,50} | apart
    Mailgun key | key- | H{32} | apart
    Twilio key | SK | H{32} | apart
    Airtable token | pat | A{14}\\.H{64} | apart
    Dropbox token | sl. | W{130,2000} | apart
    Intercom token | dG9rO | [A-Za-z0-9+/_=%-]{40,99} | apart
    Mapbox token | sk.eyJ tk.eyJ | W{40,200}\\.W{20,24} | apart
    Grafana token | eyJrIjoi | [A-Za-z0-9%]{70,400}={0,3} | apart
    Square token | EAAA | W{60} | apart
    EasyPost key | EZAK EZTK | A{54} | apart
    NuGet key | oy2 | [a-z0-9]{43} | apart
    crates.io token | cio | A{32} | apart
    Octopus key | API- | [A-Z0-9]{25,40} | apart
    Infracost key | ico- | A{32} | apart
    Harness key | pat. sat. | W{22}\\.A{24}\\.A{20} | apart
    Yandex key | AQVN | W{33,38} | apart
    Tencent key | AKID | A{32} | apart
    Twitch token | oauth: | [a-z0-9]{30} | apart
    Zoho token | 1000. | H{32}\\.H{32} | apart
    Adobe secret | p8e- | W{32} | apart
"""

_ENDINGS: Final = """
    Terraform token | [A-Za-z0-9]{14} | .atlasv1. | [\\w-]{60,70}
    New Relic key | [a-fx0-9]{32} | FFFFNRAL |
    New Relic key | [A-Za-z0-9]{42} | -NRMA |
    MaxMind key | [A-Za-z0-9_]{36} | _mmk |
    Azure secret | [A-Za-z0-9_~.-]{3}[0-9] | Q~ | [A-Za-z0-9_~.-]{31,34}
    Azure key | [A-Za-z0-9]{76} | AZDO | [A-Za-z0-9]{4}
    Azure key | [A-Za-z0-9]{52} | JQQJ99 | [A-Za-z0-9]{22,40}
    Azure key | [A-Za-z0-9]{42} | AzSe | [A-D][A-Za-z0-9]{5}
    Azure key | [\\w-]{44} | AzFu | [\\w-]{5}[AQgw]=
    Azure key | [A-Za-z0-9+/]{42} | +ACR | [A-D][A-Za-z0-9]{5}
    Azure key | [A-Za-z0-9+/%]{42} | %2BACR | [A-D][A-Za-z0-9]{5}
    Mailchimp key | [a-f0-9]{32} | -us | [0-9]{1,2}
    Mailgun key | [a-f0-9]{32} | - | [a-f0-9]{8}-[a-f0-9]{8}(?!-)
"""

_OTHERS: Final = (
    Form("Telegram token", (":A", "AA"), r"\d{8,10}(?::|%3[Aa])A[\w-]{34}", apart=True),
    Form("OpenAI key", ("T3BlbkFJ",), r"sk-[\w-]{20,100}T3BlbkFJ[\w-]{20,100}", apart=True),
    Form(
        "Bitwarden token",
        ("0.",),
        rf"0\.{_UUID}\.[A-Za-z0-9]{{30}}(?::|%3[Aa])[A-Za-z0-9+/%]{{22,40}}(?:==|%3[Dd]%3[Dd])",
        apart=True,
    ),
    Form(
        "JSON web token",
        (".eyJ", ".ewo"),
        r"(?:eyJ|ewo)[\w-]{10,4096}={0,2}\.(?:eyJ|ewo)[\w-]{10,8192}={0,2}\.[\w-]{27,4096}",
        apart=True,
    ),
    Form(
        "encrypted web token",
        ("eyJ",),
        r"eyJ[\w-]{10,1024}\.[\w-]{0,1024}\.[\w-]{10,64}\.[\w-]{10,8192}\.[\w-]{16,64}",
        apart=True,
    ),
    Form(
        "Asana token",
        (),
        rf"[12]{_SLASH}\d{{10,20}}(?:{_SLASH}\d{{10,20}})?(?::|%3[Aa])[a-f0-9]{{32}}",
        apart=True,
    ),
    Form(
        "Discord token",
        (),
        r"[MNO](?=[\w-]{0,26}\d)[\w-]{22,27}\.[\w-]{6}\.(?=[\w-]{0,39}[A-Z])[\w-]{27,40}",
        apart=True,
    ),
)

NAMED_FORMS: Final = (
    # Their values have no form of their own: the name before them tells, which may be anywhere in the text.
    Form(
        "AWS secret key",
        ("ecret_access_key", "ECRET_ACCESS_KEY", "ecretAccessKey"),
        rf"(?:ecret_access_key|ECRET_ACCESS_KEY|ecretAccessKey){_IS}"
        r"(?P<value>(?![A-Za-z0-9/+]{0,33}EXAMPLE)[A-Za-z0-9/+]{40})(?![\w/+])",
    ),
    Form(
        "AWS session token",
        ("ession_token", "ESSION_TOKEN", "essionToken"),
        rf"(?:ession_token|ESSION_TOKEN|essionToken){_IS}(?P<value>(?!.{{0,200}}EXAMPLE)[A-Za-z0-9/+=]{{100,4000}})",
    ),
    Form("WireGuard key", ("PrivateKey",), r"PrivateKey[ \t]{0,9}=[ \t]{0,9}(?P<value>[A-Za-z0-9+/]{43}=)"),
    Form("WireGuard key", ("PresharedKey",), r"PresharedKey[ \t]{0,9}=[ \t]{0,9}(?P<value>[A-Za-z0-9+/]{43}=)"),
    Form("Okta token", ("SSWS ",), r"SSWS[ \t]{1,9}(?P<value>00[\w-]{40})"),
    Form("Azure key", ("AccountKey",), r"AccountKey(?:=|%3[Dd])(?P<value>[A-Za-z0-9+/%]{80,140}={0,2})"),
    Form("Azure key", ("SharedAccessKey",), r"SharedAccessKey(?:=|%3[Dd])(?P<value>[A-Za-z0-9+/%]{43,80}=?)"),
    Form("Azure signature", ("sig=",), r"(?<![A-Za-z0-9])sig=(?P<value>[A-Za-z0-9+/%]{43,80}(?:=|%3[Dd]))"),
    Form("AWS signature", ("Amz-Signature=",), r"Amz-Signature=(?P<value>[a-f0-9]{64})"),
    Form("Google signature", ("Goog-Signature=",), r"Goog-Signature=(?P<value>[a-f0-9]{64,1024})"),
    Form(
        "npm token",
        (":_authToken", ":_password"),
        r":_(?:authToken|password)[ \t]{0,9}=[ \t]{0,9}[\"']?(?P<value>[A-Za-z0-9_=+/.-]{20,400})",
    ),
    Form("GitLab session", ("_gitlab_session=",), r"_gitlab_session=(?P<value>[a-f0-9]{32})"),
    Form(
        "Slack webhook",
        ("hooks.slack.com",),
        rf"hooks\.slack\.com{_SLASH}(?:services|workflows|triggers){_SLASH}[A-Z0-9]{{6,14}}{_SLASH}"
        rf"[A-Za-z0-9]{{6,20}}{_SLASH}(?:\d{{10,20}}{_SLASH})?(?P<value>[A-Za-z0-9]{{20,40}})",
    ),
    Form("Discord webhook", ("webhooks",), rf"webhooks{_SLASH}\d{{17,20}}{_SLASH}(?P<value>[\w-]{{60,80}})"),
    Form(
        "Teams webhook",
        ("webhook.office.com",),
        rf"webhook\.office\.com{_SLASH}(?P<value>webhookb2{_SLASH}{_UUID}(?:@|%40){_UUID}{_SLASH}IncomingWebhook"
        rf"{_SLASH}[a-f0-9]{{32}}{_SLASH}{_UUID})",
    ),
    Form(
        "password",
        ("://",),
        r"://[^\s/:@\"'<>]{0,100}:(?P<value>(?=[^\s/@]{0,99}[a-z])(?=[^\s/@]{0,99}[A-Z])(?=[^\s/@]{0,99}[0-9])"
        r"[A-Za-z0-9_.~!*+=^%-]{12,100})@",
    ),
)

_SERVICES: Final = """
    airtable algolia asana assemblyai auth0 bitbucket circleci circle_ci circle_token cloudflare cohere confluent
    contentful datadog dd_api dd_app deepgram deepseek discord dropbox elevenlabs fastly fireworks github gitlab heroku
    hetzner intercom jfrog launchdarkly linode mailchimp mailgun mapbox mistral netlify new_relic newrelic okta openai
    pagerduty plaid railway rapidapi rollbar saucelabs sendgrid sentry slack snyk sonar spotify stability sumologic
    travis trello twilio twitch twitter vercel vonage vultr wandb zendesk
"""
SERVICE_SECRET: Final = Form(
    "service key",
    (),
    rf"(?:{'|'.join(_SERVICES.split())})[\w.-]{{0,30}}?(?:key|token|secret|passw(?:or)?d|auth)\w{{0,12}}{_IS}"
    r"(?P<value>[A-Za-z0-9_+/=-]{20,100})(?![\w.(\[{+/-])",
)
"""A long random value of a setting that names a service and a secret of it, in whatever case."""


def all_forms() -> Iterator[Form]:
    """Yield the forms that are recognised by a literal in a long word, or by the word itself."""
    # A pattern that begins with a literal is searched for much faster, so what precedes it is compared backwards.
    for what, before, literal, after in _rows(_ENDINGS):
        size = sum(map(int, re.findall(r"\{(\d+)\}", before))) + before.endswith("[0-9]")
        start = re.escape(literal)
        yield Form(what, (literal,), rf"{start}(?<={before}{start}){after}", apart="%" not in literal, before=size)
    yield from _OTHERS
    for what, starts, body, *rest in _rows(_BODIES):
        whole = body.replace("UUID", _UUID)
        for short, characters in (("A{", "[A-Za-z0-9]{"), ("H{", "[A-Fa-f0-9]{"), ("W{", r"[\w-]{")):
            whole = whole.replace(short, characters)
        for start in starts.split():
            yield Form(what, (start,), rf"{re.escape(start)}(?P<body>{whole})", apart=bool(rest))


def _rows(table: str) -> Iterator[list[str]]:
    return (re.split(r" +\|(?: +|$)", line.strip()) for line in table.splitlines() if line.strip())
