"""What no note may hold, in every way in which people and programs write it down; and what only speaks of secrets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptuary.experiences.scrub import scrub
from promptuary.memory.secret_texts import _ignoring_case, _patterns, _patterns_for, has_secret, without_secrets

PW = "Tr0ub4dor"
SECRETS = [
    # connections
    f"The staging db is postgres://app:{PW}@db.example.org/app",
    "postgres://u:pw@host/db",
    f"clone https://u:{PW}@example.org/x.git",
    f"redis://:{PW}@cache:6379/0",
    f"mongodb+srv://root:{PW}@c0.example.net",
    f"amqp://guest:{PW}@rabbit",
    f"ftp://ftp:{PW}@files.example.org",
    f'{{"url": "mysql:\\/\\/root:{PW}@db"}}',
    # assignments
    f"DB_PASSWORD={PW}",
    "DB_PASSWORD=swordfish",
    f"export PGPASSWORD='{PW}'",
    f"MYSQL_ROOT_PASSWORD: {PW}",
    f"spring.datasource.password={PW}",
    "password: swordfish",
    '  "client_secret": "swordfish",',
    f"set api_key = {PW}",
    f"SECRET_KEY={PW}x",
    f"GITHUB_TOKEN={PW}x",
    f"X-Auth-Token: {PW}",
    f"Cookie: {PW}",
    f"Authorization: Bearer {PW}",
    f"Authorization: Basic {PW}==",
    f"machine example.org login ada password {PW}",
    # commands
    f"mysql -u root -p{PW} app",
    "mysqldump -uroot -pgeheim app > x.sql",
    f"mysql --password={PW}",
    f"tool --api-key '{PW}'",
    f"curl -u admin:{PW} https://example.org",
    f"sshpass -p {PW} ssh host",
    f"redis-cli -h cache -a {PW} ping",
    f"docker login -u ada -p {PW} registry.example.org",
    f"zip -P {PW} a.zip a",
    f"ldapsearch -D cn=admin -w {PW} -b dc=x",
    f"sqlcmd -S db -U sa -P {PW}",
    f"smbclient //host/share -U ada%{PW}",
    # sentences
    f"The password is {PW}",
    f"The password for the staging db is {PW}.",
    f"The password of the router in the office is '{PW}'",
    f"My password for example.org: {PW}",
    f"The wifi password (guest) is {PW}!",
    f"password = {PW}",
    f"The new password is now {PW}",
    f"The root password was changed to {PW}",
    'The password is "swordfish"',
    f"Log in as ada with the password {PW}",
    f"Use {PW} as the password for staging",
    f"{PW} is the password of the staging db",
    "The PIN is 4711",
    "Die PIN für die Karte ist 4711",
    f"The API key for the weather service is {PW}x9",
    f"api token: {PW}x9",
    f"Das Passwort für die Staging-Datenbank lautet {PW}",
    "Das Passwort für die Staging-Datenbank lautet geheim",
    f"Das Passwort vom Router ist {PW}",
    f"Mein Kennwort heißt {PW}",
    f"Passwort: {PW}",
    f"Der API-Schlüssel lautet {PW}x9",
    f"Le mot de passe de la base de test est {PW}",
    f"Le mot de passe du wifi : {PW}",
    f"La contraseña del servidor de pruebas es {PW}",
    f"La clave del wifi es {PW}",
    f"La password del database di staging è {PW}",
    f"A senha do banco de testes é {PW}",
    f"Het wachtwoord van de database is {PW}",
    f"Lösenordet är {PW}",
    f"Hasło do bazy: {PW}",
    f"Пароль от базы: {PW}",
    f"数据库的密码是{PW}",
    f"パスワードは{PW}です",
    f"비밀번호는 {PW}",
    # forms
    "sk-" + "a1B2c3D4e5F6" * 4,
    "ghp_" + "a1B2" * 9,
    "Title\n\nghp_" + "a1B2" * 9,
]

ORDINARY = [
    "The password is stored in the vault",
    "The password for the staging db is in 1Password",
    "The password is wrong!",
    "Password: see the team vault",
    "Passwords are hashed with argon2id",
    "The password is at least 12 characters long",
    "The password expires after 90 days",
    "the secret is base64-encoded",
    "The API key is in ~/.config/tool/key.toml",
    "The token for CI is in the variable CI_TOKEN",
    "rotate the token every 90 days",
    "count the tokens: 1200",
    "The token budget for the model is 4096",
    "max token: 4096",
    "The token is RS256-signed",
    "Auth: use OAuth2 with PKCE",
    "auth: none yet",
    "The secret of good bread is time",
    "export PASSWORD=$VAULT_PASSWORD",
    "password=getpass.getpass()",
    "token=os.environ['TOKEN']",
    "use --password-file secrets.txt",
    "use --token and --verbose",
    "curl --user name example.org",
    "https://example.com:8080/path",
    "https://example.com/a:b@c",
    "postgres://localhost:5432/app uses no password",
    "postgres://user:<password>@host and postgres://user:$PGPASSWORD@host",
    "The LED is on pin: 13",
    "The pin is GPIO17",
    "fix the tokenizer",
    "author: Ada",
    "The key is to measure first",
    "The key is Ctrl+C",
    "mysql -p asks for the password",
    "mysql -h db -P 3306",
    "docker run -p 8080:80 nginx",
    "unzip -p a.zip",
    "The password to server2 is in the safe",
    "I use KeePass2 as my password manager",
    "Das Passwort steht im Tresor",
    "Das Passwort ist abgelaufen",
    "Le mot de passe est dans le coffre",
    "La contraseña es obligatoria",
    "データベースを移行する",
    "The password field is named user_password2",
    "Bearer tokens are checked in the middleware",
    "Basic authentication is off",
    "I was born on 2001-04-05 and my pin board is full",
    "git push -u origin/a:origin/b",
    "run tests.py basic --parallel=1",
    "login(user, password=password, auth=HTTPBasicAuth(*auth))",
    'export OPENAI_API_KEY="..." and SLACK_BOT_TOKEN=xoxb-...',
    "Our API has versions v1 and v2; the key endpoint is /api/v2/keys",
]


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_recognised_however_it_is_written(text: str) -> None:
    assert has_secret(text)
    assert PW not in without_secrets(text)
    assert scrub(text) == without_secrets(text)


@pytest.mark.parametrize("text", ORDINARY)
def test_a_text_about_secrets_is_none(text: str) -> None:
    assert without_secrets(text) == text


@given(text=st.text(max_size=200))
def test_masking_twice_changes_nothing_more(text: str) -> None:
    assert without_secrets(without_secrets(text)) == without_secrets(text)


PIECES = [
    "Bearer ",
    "BASIC\t",
    "-u ",
    "--USER=",
    "--",
    "-P",
    "password",
    "API_KEY",
    "=",
    ": ",
    "a:b@",
    "pg://",
    PW,
    " ",
    "is",
]
NAMES = [
    *(
        "pwd",
        "kennwort",
        "lösenord",
        "losenord",
        "haslo",
        "hasło",
        "пароль",
        "密码",
        "pin",
        "ſecret",
        "API-Key",
        "två token",
    ),
    *("cookie", "Authorization", "credentials", "zugangsdaten", "clave secreta", "Schlüssel", "mot de passe", "lautet"),
    *("--user=", "-u ", "redis-cli -a ", "7z -p", "docker login -p ", "reads ", "“", "with ", "mit ", "hunter2! as "),
]


@given(text=st.lists(st.sampled_from([*PIECES, *NAMES]) | st.text(max_size=4), max_size=12).map("".join))
def test_no_pattern_is_left_out_that_would_find_something(text: str) -> None:
    tried = {pattern for pattern, _ in _patterns_for(text)}
    finding = {pattern for pattern, _, _ in _patterns() if _ignoring_case(pattern).search(text)}

    assert finding <= tried
