"""Names that keep secrets, in every spelling that reaches or resembles them; and names that only look so."""

from collections.abc import Callable, Iterator
from itertools import product

import pytest

from promptuary.base.errors import Code
from promptuary.workspace.access import Access
from promptuary.workspace.changes.readable_names import ReadableNames

POLICY = Access()


def words(text: str) -> list[str]:
    return text.split()


SECRETS = words(
    """
    .env .env.local .env.production .env.development .env.test .env.staging .env.prod.local .env-prod
    .env_backup .envrc .env.bak .env~ .env.old prod.env docker/app.env .envs/.production/.postgres
    .env.vault .env-cmdrc .env.example.local id_rsa id_dsa id_ecdsa id_ed25519 id_ed25519_sk id_ecdsa_sk
    id_rsa.bak id_rsa_work id_ed25519-github deploy_id_rsa keys/id_rsa server.pem server.key
    tls/private.key cert.p12 cert.pfx release.jks upload.keystore vault.kdbx putty.ppk AuthKey_ABC.p8
    a.pk8 login.keychain login.keychain-db client.ovpn krb5.keytab app.mobileprovision host.rdp
    store.truststore strong.snk private.asc secret-key.asc secring.gpg backup.gpg notes.age my.pgp .netrc
    _netrc .pgpass .npmrc .pypirc .git-credentials .gitcookies .htpasswd .htdigest .dockercfg
    .dockerconfigjson .docker/config.json home/.docker/config.json .kube/config x/.kube/cache/a.json
    .aws/credentials x/.aws/config .azure/accessTokens.json .gnupg/pubring.kbx .ssh/config
    .ssh/known_hosts a/b/.ssh/anything.txt .config/gh/hosts.yml .config/gcloud/properties
    .config/rclone/rclone.conf .config/git/credentials application_default_credentials.json credentials
    credentials.json credentials.yml credentials.yaml credentials.toml credentials.ini credentials.xml
    credentials.csv creds.json secrets.yml secrets.yaml secrets.json secrets.toml secrets.txt
    secrets.properties secret.json secret.yaml passwords.txt password.txt passwords.csv passwords.json
    secrets credentials.json.bak secrets.yml.orig prod-secrets.yaml staging.secrets.json
    local_credentials.toml service-account.json service-account-prod.json service_account.json
    serviceAccountKey.json my-service-account.json app-firebase-adminsdk-x1.json client_secret.json
    client_secrets.json client_secret_123.apps.googleusercontent.com.json terraform.tfstate
    terraform.tfstate.backup prod.tfstate prod.tfvars prod.auto.tfvars terraform.tfvars.json .terraformrc
    .terraform.d/credentials.tfrc.json .vault-token .vault_pass vault_password.txt token token.json
    token.txt tokens .token github.token access_token access_token.json refresh_token.json api_key.txt
    apikeys.json auth.json oauth.json oauth2.json oauth_creds.json oauth-client.json oauth_token.txt .boto
    .s3cfg .passwd-s3fs master.key config/master.key config/credentials.yml.enc
    config/credentials/production.yml.enc config/credentials/production.key secrets.json.enc wallet.dat
    UTC--2020-01-01T00-00-00Z--ab .bash_history .zsh_history .python_history .psql_history .mysql_history
    .node_repl_history .lesshst .viminfo .my.cnf .mylogin.cnf .pg_service.conf .cargo/credentials
    .cargo/credentials.toml .gem/credentials .m2/settings.xml settings-security.xml
    .gradle/gradle.properties .composer/auth.json .bundle/config .subversion/auth/svn.simple/x
    Library/Keychains/x.txt cookies.txt cookies.sqlite cookies.json logins.json key4.db signons.sqlite
    .mozilla/firefox/profiles.ini .git .git/config .git/HEAD sub/.git/hooks/pre-push .hg/hgrc .svn/entries
    .jj/repo/x git~1/config
    .password-store/a.txt .secrets/x.txt .private/notes.md .databrickscfg .snowsql/config .modal.toml
    .kaggle/kaggle.json kaggle.json kubeconfig kubeconfig-prod.yaml admin.kubeconfig talosconfig k3s.yaml
    .rhosts authorized_keys known_hosts shadow passwd htpasswd master.passwd sitemanager.xml winscp.ini
    unattend.xml ConsoleHost_history.txt .erlang.cookie .Xauthority rootkey.csv user_accessKeys.csv
    recovery-codes.txt mnemonic.txt seed_phrase.txt .sentryclirc .fly/config.yml ssh_host_rsa_key
    .huggingface/token .cache/huggingface/token private_key private-key.json privatekey.txt
    secret_key_base .acme.sh/account.conf etc/ssl/private/x.txt run/secrets/db .tsh/keys/x
    .cloudflared/cert.json rclone.conf sftp-config.json .ftpconfig
    new_user_credentials.csv gcp-credentials.json db-credentials.txt secrets-prod.yaml .secrets.toml
    api_token.txt google_token.json .anthropic_oauth.json mcp-tokens/x.json .config/tool/tokens.json
    .yarnrc.yml
    .claude.json .snowflake/connections.toml .dbt/profiles.yml pip.conf .config/pip/pip.conf .gitconfig
    nuget.config NuGet.Config wg0.conf etc/wireguard/home.conf deploy_rsa github_ed25519
    insecure_private_key server.key.txt .git-credentials.txt .netrc.1 server.key.2 #id_rsa# .#id_rsa
    .id_rsa.swp ._id_rsa .netrc.txt .ssh.bak/config db_password.txt postgres-password.txt
    mysql_root_password.txt prod_secrets.json app-creds.yaml github_token.txt openai_api_key.txt
    slack-tokens.json secrets.staging.yaml passwords-2024.txt .claude/.credentials.json .api-key.txt
    chap-secrets keystore.properties wpa_supplicant.conf .condarc .mcp-auth/server/x_tokens.json
    .dev.vars .dev.vars.production .envrc.local .gitconfig.local env.local env.production .Renviron .hgrc
    .docker/config.json.bak .dbt/profiles.yml~ .aws/credentials.bak .bitwarden/data.json .1password/x
    .config/1Password/settings .config/hcloud/cli.toml .config/scw/config.yaml .config/ngrok/ngrok.yml
    ngrok.yml .cf/config.json .supabase/access-token .databricks/token-cache.json .railway/config.json
    .cache/huggingface/stored_tokens .idea/dataSources.local.xml .idea/webServers.xml .weechat/sec.conf
    kube.config wp-config.php wp-config.php.bak key.properties buildkite-agent.cfg pgpass.conf cookie.txt
    jupyter_cookie_secret vault-init.json vault-keys.json unseal_keys.txt recovery-key.txt vault-token.txt
    root-token.txt root_token gh_token ansible-vault-pass.txt github_deploy_key deploy_key.txt sa-key.json
    gcp-sa.json gcp_sa_prod.json aws_credentials aws-credentials.txt credentials_backup.json
    restic-password.txt borg-passphrase.txt 2fa-backup-codes.txt backup_codes.txt seed-phrase.txt
    bitlocker-recovery.txt wg-client.conf wireguard-home.conf k8s-secret.yaml home.nmconnection
    """
)

FURTHER = words(
    """
    age-key.txt age-keys.txt age_key_prod.txt keys.agekey bitwarden_export_20260101.json bitwarden_export_x.csv
    lastpass_vault_export.csv dashlane-export.csv keepass-export.xml keeper-backup.json nordpass-passwords.csv
    chrome-passwords.csv google-passwords.csv firefox_logins.csv protonpass-export.json 1password-export.csv
    x.1pif x.bek .stripe/config.toml .config/stripe/config.toml .jfrog/jfrog-cli.conf.v6 .jfrog/x.json
    .twilio-cli/config.json .config/twilio-cli/config.json krb5cc_1000 krb5cc_0_abc keystore/UTC--x
    keystore/UTC--2024-01-01T00-00-00.0Z--ab group_vars/all/vault.yml host_vars/db1/vault.yaml
    group_vars/prod/vault inventory/group_vars/all/vault.yml google_workspace_auth_contexts.json
    auth_contexts.json .npmrc-old .npmrc_backup .npmrc.2024-01-01 .netrc-old .pypirc.work .pgpass-backup
    my-secret.yaml db-secret.yml app.secret.json tls-secret.yaml .heroku/x.json .digitalocean/x .keybase/x.json
    .gopass/config.yml .passage/store/x .solana/id.json .near-credentials/x.json .lnd/x.txt .exodus/x.json
    .saml2aws .okta/okta.yaml .pulumi/credentials.json .rancher/cli2.json .argocd/config .influxdbv2/configs
    .minio/x.json .neomuttrc .mailrc .rhistory .xonsh_history .odbc.ini odbc.ini .sgptrc .doppler/x.yaml
    .akeyless/x .conjurrc .sfdx/x.json .contentfulrc.json .upstash.json .pd.yml .isyncrc .smbcreds
    .credentials_rsaparams .gitlab-runner/config.toml .google_workspace_mcp/credentials/a.json .tccli/x
    .hcloud.toml .ovh.conf .clearml.conf .irssi/config .remmina/x.txt a.remmina acme.json apikey.json
    sasl_passwd passwd.client opasswd npmrc msmtprc s3cfg pam_mount.conf.xml confCons.xml mobaxterm.ini
    google_compute_engine claude_desktop_config.json hubspot.config.yml priv_validator_key.json
    credentials.tfrc.json service_principal_entries.json azure.auth smbcredentials logins-backup.json token.csv
    tokens.csv google_accounts.json auth-user-pass.txt wallet.aes.json privkey.txt prod.secret.exs
    config/secrets/prod/prod.decrypt.private.php recovery-phrase.txt seed-words.txt mnemonic-phrase.txt
    private-keys.txt gcp-service-key.json gcloud-service-key.json google-cloud-key.json firebase-key.json
    service-key.json sa-key-prod.json .netlify/config.json .fly/state.yml .config/vercel/auth.json
    .config/planetscale/access-token .config/turso/settings.json .config/neonctl/credentials.json
    .config/auth0/config.json .config/argocd/config .config/helm/registry/config.json .config/wandb/settings
    .config/openai/key.txt .config/io.datasette.llm/keys.json .config/aichat/config.yaml
    .config/keepassxc/keepassxc.ini .config/solana/id.json .config/borg/keys/x .config/aerc/accounts.conf
    .config/Signal/config.json .config/BraveSoftware/x.json .config/microsoft-edge/x
    .config/yandex-cloud/config.yaml .config/pnpm/rc .config/npm/npmrc .config/dart/pub-credentials.json
    .config/fish/fish_variables .circleci/cli.yml .travis/config.yml .expo/state.json .cabal/config
    .hex/hex.config .pub-cache/credentials.json .conan2/credentials.json .foundry/keystores/x
    .jupyter/jupyter_server_config.json .local/share/jupyter/runtime/x.json .local/share/atuin/key
    .local/share/com.vercel.cli/auth.json .cassandra/credentials .mlflow/credentials .llm/keys.json
    .aider.conf.yml .continue/config.json .codex/auth.json .gemini/oauth_creds.json .mc/config.json
    .chef/credentials .vnc/passwd etc/ppp/peers/x.conf etc/vpnc/default.conf etc/ipsec.d/private/x.txt
    etc/letsencrypt/accounts/x.json etc/NetworkManager/system-connections/home etc/letsencrypt/live/x/README
    ipsec.secrets users.htpasswd kaggle-old.json credentials-backup.json rclone_old.conf wallet-bak.dat
    secrets-2024-01-01.yaml token_20240101.json id_rsa.original kubeconfig.prev .git-credentials.saved
    server.key.disabled shadow.dpkg-old cookies-new.txt
    """
)
SECRETS += FURTHER

COPIES = [
    "Login Data",
    "Login Data For Account",
    "Web Data",
    "Local State",
    "key (1).pem",
    "Google Passwords.csv",
    ".env copy",
    ".env (1)",
    "id_rsa copy",
    "id_rsa copy 2",
    "Copy of id_rsa",
    "Copy (2) of .env",
    ".env - Copy",
    ".netrc (2)",
    "credentials (1).json",
    "kaggle copy.json",
    "kaggle (1).json",
    "secrets - Kopie.yaml",
    "server (copy).key",
    "token copy 3.json",
    "wallet copy.dat",
    ".aws copy/config",
    ".pgpass.bak (1)",
    "rclone (1).conf.bak",
    ".env (Kopie)",
    ".env – Kopie",
    ".env - Cópia",
    "id_rsa - копия",
    ".envのコピー",
    ".env - 副本",
    "kaggle (copia).json",
]


def fullwidth(path: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" and c not in "/\\" else c for c in path)


def bold_capitals(path: str) -> str:
    return "".join(chr(0x1D400 + ord(c.upper()) - ord("A")) if c.isascii() and c.isalpha() else c for c in path)


def each(change: Callable[[str], str]) -> Callable[[str], str]:
    """Apply ``change`` to each name of a path."""
    return lambda path: "/".join(change(name) for name in path.split("/"))


def inside(mark: str) -> Callable[[str], str]:
    return each(lambda name: name[:2] + mark + name[2:])


VARIANTS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "upper case": str.upper,
    "swapped case": str.swapcase,
    "title case": str.title,
    "full width": fullwidth,
    "mathematical bold capitals": bold_capitals,
    "long s": lambda path: path.replace("s", "ſ"),
    "Kelvin sign": lambda path: path.replace("k", "\u212a"),
    "one dot leader": lambda path: path.replace(".", "\u2024"),
    "zero width space": inside("\u200b"),
    "zero width joiner": inside("\u200d"),
    "byte order mark": lambda path: "\ufeff" + path,
    "soft hyphen": inside("\u00ad"),
    "right to left override": inside("\u202e"),
    "variation selector": inside("\ufe0f"),
    "tag character": inside("\U000e0041"),
    "combining grapheme joiner": inside("\u034f"),
    "hangul filler": inside("\u3164"),
    "trailing dot": each(lambda name: name + "."),
    "trailing dots": each(lambda name: name + "..."),
    "trailing space": each(lambda name: name + " "),
    "trailing no-break space": each(lambda name: name + "\u00a0"),
    "trailing dot and space": each(lambda name: name + ". . "),
    "leading space": each(lambda name: " " + name),
    "data stream": lambda path: path + "::$DATA",
    "named stream": lambda path: path + ":notes.txt",
    "data stream, upper case, hidden": lambda path: inside("\u2060")(path.upper()) + ":x:$data",
    "in a folder": lambda path: "some/deep folder/" + path,
}


def test_there_are_enough_names_to_mean_something() -> None:
    assert len(set(SECRETS)) >= 240


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_spelling_of_a_secret_name_may_be_read(variant: str) -> None:
    spelled = [VARIANTS[variant](path) for path in (*SECRETS, *COPIES)]

    def code(path: str) -> Code | None:
        refusal = POLICY.refusal("read", path)
        return refusal.code if refusal else None

    assert [path for path in spelled if code(path) is not Code.SENSITIVE_PATH] == []


OWN = words(
    """
    .promptuary .promptuary/state.db .promptuary/config.toml .promptuary/.gitignore .promptuary/index/meta.json
    .promptuary/memory/agents/a/private/user/x.md .promptuary/memory/agents/a/shared/user/x.md
    sub/.promptuary/memory/x.md prompt~1/memory/x.md
    """
)


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_spelling_of_our_own_folder_may_be_read_or_listed_whatever_a_person_allows(variant: str) -> None:
    spelled = [VARIANTS[variant](path) for path in OWN]
    allowing = Access(also=frozenset({"*"}), allow_sensitive=frozenset({*spelled, ".promptuary", "x.md"}))

    for policy in (POLICY, allowing):
        refusals = [policy.refusal("read", path) for path in spelled]
        assert [one.code if one else None for one in refusals] == [Code.CLOSED_FOLDER] * len(OWN)
        assert all(map(policy.is_sensitive, spelled))


NEARLY = words(
    """
    deploy_key.pub wp-config-sample.php env.py env.d.ts env.test.ts seed.sql seeds.txt db/seed_phrases.py
    vault.yml backup_codes.py recovery_codes.html copier.py photocopy.md kopi.md bin/refresh-token
    create_token.py wgpu.conf tests/wg_test.py deploy.key.md gcp_samples.json visa-key.md src/passthrough.txt
    compass.json .idea/workspace.xml .cursor/mcp.json .cargo/config.toml docs/deploy-keys.md github-token.md
    tokenizer.json gh-token-action.yml kubeconfig.py kubeconfig_test.go oauth_credentials.pyi src/tokens.py
    secrets.py credentials.ts token_test.go docs/keys.md env.py environment.yml .env.example public.key.md
    tests/test_secrets.py .env.sample .env.template .env.dist .env.defaults .env.local.example .env-example
    example.env config/secrets.example.yml secrets.yml.example credentials.json.sample terraform.tfvars.example
    example.tfvars src/credentials/index.ts src/tokens/colors.json design.tokens.json tokenizer.json
    special_tokens_map.json app/views/passwords/new.html.erb app/models/credential.rb lib/secret_manager.go
    secrets_test.py password_reset.html internal/auth/oauth.go src/oauth.ts auth.py auth.ts config/auth.php
    lang/en/auth.php lang/en/passwords.php src/locales/de/auth.json public/locales/fr/secrets.json
    i18n/en/oauth.json locales/en/service-account.json charts/app/templates/secret.yaml
    charts/app/templates/serviceaccount.yaml deploy/external-secrets.yaml rbac/service-account.yaml
    src/keychain.swift lib/keystore.dart app/wallet.ts src/cookies.ts middleware/cookies.js history.md
    src/history.ts HISTORY docs/ssh.md docs/aws/setup.md aws.tf kube/deployment.yaml k8s/config.yaml
    .docker/Dockerfile .docker/nginx.conf .github/CODEOWNERS .gitignore .gitattributes .gitmodules
    .gitlab-ci.yml .githooks/pre-commit git.py src/git/config.ts .vscode/settings.json .config/nvim/init.lua
    .config/app.toml settings.xml gradle.properties .cargo/config.toml .promptuaryignore id_rsa.pub
    keys/ed25519.pub server.crt ca.cer request.csr KEYS release.asc book/chapter-1.asc config/database.yml
    config/application.yml settings.py local_settings.py .nvmrc .tool-versions key.py keys.ts keyboard.json
    monkey.py donkey.md turkey.csv pem.go x509/pem_test.go src/crypto/aes_key.c keymap.toml account.py
    accounts/urls.py service_account.py ServiceAccount.java service-account.md private.py private/index.ts
    secret.go token.rs token.ts tokens.css access_token.rb api_key.py api_keys.ts history_test.py environment.ts
    env.d.ts src/env.mjs vite-env.d.ts .envoy.yaml env.example env.sample passwd.5 shadow.5 sudo.8 crypto/rsa.go
    rsa/keys.go token.5 .secretlintrc.json external-secrets.json sealed-secrets.yaml password-policy.json
    reset_password.txt forgot-password.json workflows/secret-scan.yml rotate-secrets.yml copy.txt hard-copy.txt
    photocopy.json notes(1).md api_reference.json design-tokens.json color.tokens.json hotkeys.json
    primary_keys.json wg.conf pip.py docs/credentials.md credentials-helper.ts access.json github.json
    google.txt config/keys.yaml .circleci/config.yml .travis.yml .snyk .firebaserc .sops.yaml
    roles/x/vars/vault.yml group_vars/all/main.yml keys.json age.txt language-keys.txt image-keys.txt
    src/stripe/config.toml docs/secret-management.yaml old-token-format.md report-2024-01-01.csv page-old.html
    notes-new.md README-old.md main_backup.py test_20240101.py export.csv data-export.json google.json
    google_test.go service.json service-worker.js service.yaml chrome.json firefox.md login.html login_data.py
    web_data.py local_state.ts backup.sh backup.json recovery.md recover.py seed.json seeds.json mnemonic.py
    private_keys.py docker_secret.yaml create-secret.yaml delete-secret.json secret.ts app.secret.md vault.md
    vaults.yml .vaultrc.md google-services.json services.json firebase.json firebase-config.json
    .config/nvim/lua/x.lua .gitlab-ci.yml api_keys.md key.md bitwarden.md 1password.md keepass.py
    lastpass_importer.py exports.json passport.json compass-old.json orders-backup.sql schema-prev.json
    config.toml.orig Makefile.old settings.py.bak package.json.save envsubst.sh .environment
    passwords_controller.rb .passwordrc.md vault.hcl vault/policy.hcl
    """
)

TREES: dict[str, tuple[str, str]] = {
    "django": (
        """
        project blog shop accounts orders api payments profiles search notifications reviews inventory
        secrets
        """,
        """
        __init__.py models.py views.py urls.py admin.py apps.py forms.py serializers.py permissions.py
        signals.py tests/test_models.py tests/test_auth.py migrations/0001_initial.py
        templates/registration/login.html templates/registration/password_reset_form.html
        management/commands/rotate_keys.py static/css/site.css
        """,
    ),
    "rails": (
        """
        user session password token account invoice order comment message payment
        """,
        """
        app/models/{}.rb app/controllers/{}s_controller.rb app/views/{}s/index.html.erb
        app/views/{}s/_form.html.haml app/helpers/{}s_helper.rb app/jobs/{}_job.rb
        app/mailers/{}_mailer.rb config/locales/{}.en.yml db/migrate/20240101000000_create_{}s.rb
        spec/models/{}_spec.rb spec/factories/{}s.rb lib/tasks/{}.rake app/assets/stylesheets/{}.scss
        app/javascript/controllers/{}_controller.js test/fixtures/{}s.yml
        """,
    ),
    "next": (
        """
        auth login secrets tokens settings billing dashboard credentials env keys oauth history
        """,
        """
        app/{}/page.tsx app/{}/layout.tsx app/{}/loading.tsx app/api/{}/route.ts components/{}/index.ts
        components/{}/{}.module.css components/{}/{}.stories.tsx components/{}/{}.test.tsx lib/{}.ts
        hooks/use-{}.ts types/{}.d.ts styles/{}.scss content/{}.mdx public/{}.svg locales/en/{}.json
        e2e/{}.spec.ts stores/{}.ts
        """,
    ),
    "go": (
        """
        auth token secret credential config key session vault cert env user server cache
        """,
        """
        cmd/{}/main.go internal/{}/{}.go internal/{}/{}_test.go internal/{}/doc.go pkg/{}/{}.go
        api/v1/{}.proto internal/{}/testdata/{}.golden docs/{}.md deploy/{}.Dockerfile hack/{}.sh
        """,
    ),
    "rust": (
        """
        token lexer parser secret keyring keys credentials auth crypto env
        """,
        """
        crates/{}/Cargo.toml crates/{}/src/lib.rs crates/{}/src/main.rs crates/{}/src/{}.rs
        crates/{}/src/{}/mod.rs crates/{}/benches/{}.rs crates/{}/tests/{}.rs crates/{}/README.md
        crates/{}/build.rs crates/{}/examples/{}.rs
        """,
    ),
    "java": (
        """
        Token Secret Credential Password KeyStore OAuth Auth Environment Session
        """,
        """
        src/main/java/com/acme/{}.java src/main/java/com/acme/{}Service.java
        src/test/java/com/acme/{}Test.java src/main/kotlin/{}.kt src/main/resources/{}.properties.md
        src/main/scala/{}.scala docs/{}.adoc src/{}.gradle src/main/resources/db/V1__{}.sql
        src/main/resources/{}Mapper.xml
        """,
    ),
}


def ordinary_paths() -> Iterator[str]:
    yield from NEARLY
    for tree, (words, shapes) in TREES.items():
        for word, shape in product(words.split(), shapes.split()):
            yield f"{tree}/" + (shape.replace("{}", word) if "{}" in shape else f"{word}/{shape}")


def test_no_ordinary_path_is_refused() -> None:
    paths = sorted(set(ordinary_paths()))

    assert len(paths) >= 1_000
    assert [path for path in paths if POLICY.refusal("read", path)] == []


def test_the_index_decides_about_every_name_as_the_policy_does() -> None:
    names = ReadableNames(POLICY)
    paths = (*SECRETS, *COPIES, *OWN, *ordinary_paths())

    assert [path for path in paths if names.allows(path) != (POLICY.refusal("read", path) is None)] == []


def test_a_file_of_tokens_is_refused_at_the_root_and_read_where_a_design_has_one() -> None:
    assert Access().is_sensitive("tokens.json")
    assert Access().is_sensitive(".config/tool/tokens.json")
    assert not Access().is_sensitive("design/tokens.json")
