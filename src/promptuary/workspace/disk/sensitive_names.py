"""Which names are text, and which are usual for secrets: decided by the name alone.

All tables are in lower case, and names are compared in their ``comparable`` form. The long patterns are compiled when a
name first needs them, which most names never do.
"""

import re
from collections.abc import Iterator
from functools import cache

MAX_NAME = 255
MAX_PATH = 4096
"""No file has a longer name or path, but a git object may. The patterns here are slow to match long names."""

IMAGES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
"""The images that models accept."""
PICTURES = (".bmp", ".tif", ".tiff", ".ico", ".heic", ".avif")
"""The others."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CODE_EXTENSIONS = """
.4gl .4th .a51 .ab .abap .abc .abnf .ac .acs .ada .adb .ado .ads .afl .agda .ahk .als .am .ampl .apex
.apib .apl .applescript .arb .as .ash .askama .asm .asn .asn1 .astro .atom .au3 .avdl .avsc .awk .axaml
.bal .bas .base .bash .bat .bats .bazel .bb .bicep .blade .blp .bnf .bp .bpmn .bqn .bru .bsl .bsv .buck
.bxl .bzl .bzlmod .c .c++ .c3 .cabal .cairo .canvas .capnp .cbl .cc .cedar .ceylon .cfc .cff .cfm
.cg .cginc .chisel .chpl .cjs .ck .cl .clar .clj .cljc .cljs .clle .cls .cm .cmake .cmd .cnf .cob
 .coffee .comp .compute .containerfile .cpp .cppm .cpy .cql .cr .cs .csd .csh .cshtml .csl
.csproj .css .csx .ctp .cts .cu .cue .cuh .cxx .cyp .cypher .d .dart .dash .dax .dbml .dbt .ddl .def .dfy
.dhall .di .dict .dml .dmn .do .dockerfile .dpk .dpr .dsl .dsp .dsr .dtd .dust .dyalog .dzn .e .ebnf
.ebuild .eclass .edgeql .edn .eex .ejs .el .eld .elm .elv .epp .erb .erl .es6 .esdl .eta .ex .exp .expect
.expected .exs .f .f03 .f08 .f77 .f90 .f95 .factor .fan .fbs .fc .feature .filters .fish .flow .flux .fnl
.for .forth .fpp .fr .frag .frm .fs .fsi .fsproj .fst .fsti .fsx .fth .ftl .ftlh .fun .fx .fxh .g .g4 .gap
.gawk .gd .gdshader .gemspec .geom .gi .gir .gleam .glsl .gml .gms .gn .gni .go .gohtml .gosu
.gotmpl .gpr .gql .gradle .grammar .graphql .graphqls .gresource .groovy .gs .gvy .gyp .gypi .h .h++
.ha .hack .haml .handlebars .har .hare .hbs .hcl .heex .hh .hhi .hip .hlsl .hpp .hql .hrl .hs .hs-boot
.hsc .htm .html .http .huff .hujson .hurl .hx .hxml .hxx .hy .i .iced .idl .idr .ijs .ily .inc .ink .inl
.ino .install .io .ipp .ipxe .ipynb .iss .ixx .j .j2 .jade .jai .janet .jav .java .jbuilder .jcl .jinja
.jinja2 .jl .jmx .jq .js .jscad .jsm .jsonnet .jsp .jspx .jsx .justfile .jxa .k .kdl .kicad_pro .kql
.ksh .ksy .kt .ktm .kts .kusto .l .lagda .lark .latte .lean .leex .less .lex .lfe .lhs .libsonnet
.lilypond .liq .liquid .lisp .litcoffee .lkml .ll .logql .lookml .lpr .ls .lsl .lsp .lua .luau .m .m2 .m4
 .mak .make .mako .malloy .manifest .marko .maxpat .mcfunction .mcmeta .mcr .mei .meson .metal
.mill .mjml .mjs .mk .ml .mli .mlir .mll .mlton .mlx .mly .mm .mod .mojo .moon .move .mq4 .mq5 .mqh .mql
.ms .mts .musicxml .mustache .mxml .mysql .mzn .nasm .ne .neorg .nft .nim .nimble .nims .ninja .nix .njk
.nomad .norg .nsh .nsi .nt .nu .nunjucks .nuspec .nut .odin .opml .orc .org .os .osl .oz .p
.p6 .pact .pas .pcss .pd .pde .peg .pegjs .per .pest .pgsql .php .php3 .php5 .php7 .php8 .phtml .pine .pkb
.pkgbuild .pkl .pks .pl .plist .pls .plsql .pm .pm6 .pod .podspec .polar .pony .postcss .postinst
.postman_collection .pov .pp .pq .prc .prerm .prf .prg .pri .prisma .pro .prolog .promql .props
.proto .ps1 .ps1xml .psd1 .psm1 .psql .pth .pug .puppet .purs .pxd .pxi .py .pyi .pyt .pyw .pyx .q
.qbs .qmd .qml .qrc .qss .r .rake .raku .rakumod .rakutest .raml .razor .rb .rbi .rbs .rbxlx .rc2 .re
.rego .rei .ren .res .resi .resource .rest .rex .rexx .rhtml .riot .rkt .rktl .rmd .rnc .rng .rnw .robot
 .rockspec .ron .rpgle .rpmspec .rpy .rq .rs .rsl .rss .ru .ruleset .s .sage .sam .sas .sass .sbt
.sc .scad .scala .scd .sch .scm .sco .scrbl .scss .sed .sentinel .sh .shader .shtml .sieve .sig
.sld .slim .slint .sln .slnx .sls .smarty .smithy .sml .smt2 .sol .sops .soy .sparql .spec .sps .sql .sqlx
.src .ss .st .stache .star .starlark .story .styl .stylus .surql .sv .svelte .svh .swift .swiftinterface
.t .tab .tact .targets .tcl .tcsh .td .templ .tera .tesc .tese .tf .tfcomponent .tfquery .tfstack .thrift
.thy .tidal .tk .tla .tmlanguage .tmpl .tofu .tpl .tpp .tres .trigger .ts .tscn .tsp .tsql .tsx .tw .twee
.twig .txx .ua .ui .ur .urp .urs .usf .ush .v .vala .vams .vapi .vb .vbproj .vbs .vcproj .vcxproj
.vdproj .vert .vex .vfl .vh .vhd .vhdl .vm .vsh .vtl .vue .vv .vy .w .wadl .wast .wat .webidl
.wgsl .wit .wl .wls .wren .wscript .wsdl .wxi .wxml .wxs .wxss .x10 .xaml .xhtml .xonsh .xsd .xsh .xsl
.xslt .xtend .y .yarn .yul .yy .yyp .zeek .zig .zil .zon .zs .zsh .zsh-theme
"""

PROSE_EXTENSIONS = """
.actual .adoc .approved .asc .asciidoc .ass .asy .authors .bbx .bib .bst .cbx .changelog .changes .copying
.creole .d2 .diff .diz .docx .dot .drawio .dtx .eml .eps .err .excalidraw .fountain .gnuplot .golden .gp .gpi
.gv .ics .ins .iuml .lang .latex .lbx .ldif .licence .license .lng .log .lrc .ltx .ly .man .markdown .mbox
.md .mdc .mdoc .mdown .mdwn .mdx .me .mediawiki .mermaid .mkd .mmd .news .nfo .notes .notice .orig .out
.patch .pdf .pgf .plantuml .po .pod6 .poml .pot .prompt .prompty .properties .ps .pu .puml .rdoc .rej .resw
.resx .roff .rst .rtf .sbv .snap .snapshot .srt .ssa .stderr .stdout .strings .stringsdict .sty .svg .tap
.tex .texi .texinfo .text .textile .tikz .tmx .todo .tr .trace .txi .txt .typ .vcard .vcf .vtt .wiki
.xcstrings .xlf .xliff
"""

DATA_EXTENSIONS = """
.aff .appdata .arff .args .automount .backup .bak .bed .brd .bvh .cast .cer .cf .cfg .cif .cir .cksum
.clang-format .clang-tidy .classpath .code-snippets .code-workspace .colors .conf .config .conll .conllu
.copy .cproject .cps .cron .crontab .crt .cson .csr .csv .cube .dae .dat .data .default .defaults
.defconfig .desktop .dic .directory .disabled .dist .dns .dts .dtsi .dtso .ecl .ecore .enabled .eno
.entitlements .env .ewp .example .fa .faa .fasta .fastq .flags .fna .fq .gcode .genmodel .geojson .gff
.gff3 .gltf .gpx .gro .gtf .hex .hjson .hosts .icf .icls .idx .if .iml .in .index .inf .ini .ioc .ipr .itp
.its .json .json5 .jsonc .jsonl .jsonld .kconfig .kicad_mod .kicad_pcb .kicad_sch .kml .ks .la .ld .ldf
.lds .lef .lib .libsvm .link .list .lock .logrotate .lst .lvs .map .md5 .metainfo .mf .mif .minisig .mol
.mol2 .mount .mps .mtl .n3 .nc .ndjson .net .netdev .network .new .newick .nex .nginx .nq .nvim .nwk .obj
.obo .off .old .opt .options .ovf .owl .path .pbtxt .pbxproj .pc .pdb .phy .pkr .ply .policy .pref .prefs
.preseed .prj .project .prototxt .psv .pub .qgs .qpf .qsf .rc .rdf .reg .repo .rpt .rsp .rules .sample
.sarif .save .scat .scope .sct .sdc .sdf .sdl .sdlang .seed .service .settings .sfv .sha1 .sha256 .sha512
.skin .slice .snippets .socket .sources .spdx .spi .spice .srec .ssv .stl .storyboard .stub
.sublime-project .sublime-settings .sublime-snippet .sublime-syntax .sum .svmlight .tape .target .te
.template .textpb .textproto .tfbackend .tflint .tfrc .tftest .tftpl .theme .timer .tmp .tmtheme .toc
.toml .top .topojson .trig .tsv .ttl .txtpb .ucf .uml .url .usda .uvprojx .vcl .ver .version .vhost .vim
.vmx .webloc .webmanifest .wkt .wordlist .words .work .wrl .x .x3d .xcconfig .xcscheme .xcworkspacedata
.xdc .xib .xmi .xml .xyz .yaml .yar .yara .yml .zone
.cocci .crl .dectest .local .pyf .stp .tcc .test .tfvars .typed .types .uue .xbm .xpm
"""

ALLOWED = _words(f"{CODE_EXTENSIONS} {PROSE_EXTENSIONS} {DATA_EXTENSIONS}")
"""Extensions, with their dot, of text files."""

STEMS = _words(
    """
    appfile authors berksfile brewfile bsdmakefile buck build capfile cartfile changelog changes
    cmakelists codeowners compose constraints containerfile contributing contributors copying copyright
    credits crontab dangerfile deliverfile docker-compose dockerfile earthfile fastfile fstab gemfile
    gnumakefile governance guardfile history hosts install jenkinsfile justfile kbuild kconfig licence
    license maintainers makefile manifest matchfile meson mintfile module news notice pipfile podfile
    procfile puppetfile rakefile readme requirements roadmap sconscript sconstruct security snakefile
    support thanks thorfile tiltfile todo upgrading vagrantfile version workspace wscript
    """
)
"""First parts of names of text files, whatever follows: ``Dockerfile.dev``, ``README.de``."""

SECRET_ANYWHERE = _words(
    """
    .1password .access_token .acme.sh .akeyless .aliyun .ansible_vault_password .anthropic
    .anthropic_api_key .anthropic_key .api-key .api_key .apikey .argocd .auth_token .authinfo
    .authinfo.gpg .avalanchego .aws .aws-sso .awsvault .azure .bash_history .bitcoin .bitwarden .bluemix
    .boto .brave .bzr .c-lightning .cabal-credentials .cifs-credentials .claude.json .clearml.conf
    .cloudflared .comet.config .condarc .conjur_identity .conjurrc .consul-token
    .contentfulrc.json .cqlshrc .credentials .credentials_rsaparams .creds .curlrc .dashcore .dashlane
    .databrickscfg .davfs2 .dbeaver .dbshell .dev.vars .digitalocean .dockercfg .dockerconfigjson
    .dogecoin .doppler .electrum .enpass .env .env-cmdrc .envrc .envs .erlang.cookie .esmtprc .ethereum
    .exodus .exoscale .fetchmailrc .fish_history .ftpconfig .gcloud .geth .getmail .ghci_history .git
    .git-credentials .gitconfig .gitcookies .github_token .gitlab-runner .gnupg .google_workspace_mcp
    .gopass .gsutil .hcloud.toml .hdb .heroku .hg .hgrc .histfile .htdigest .htpasswd .ibmcloud
    .iceauthority .influxdbv2 .irb_history .irssi .isyncrc .jfrog .jira.d .jj .k5login .kaggle .keepass
    .keepassxc .keybase .keychain .keyring .keyrings .krb5cc .ksh_history .kube .lastpass .lesshst
    .lftprc .lightning .linode-cli .litecoin .lnd .lpass .mailrc .mbsyncrc .mcp-auth .mcp-remote
    .minikube .minio .modal.toml .monero .mongorc.js .mozilla .msmtprc .muttrc .my.cnf .mylogin.cnf
    .mysql_history .near-credentials .neomuttrc .netrc .netrc.gpg .newrelic .ngc .ngrok .ngrok2
    .node_repl_history .nomad-token .npmrc .oci .octave_hist .odbc.ini .offlineimaprc .okta .openai
    .openai_api_key .openai_key .ovh.conf .pass .passage .passwd .passwd-s3fs .password
    .password-store .passwords .pause .pd.yml .pg_service.conf .pgadmin .pgpass .pki .private
    .pry_history .psql_history .pulumi .putty .pypirc .python_history .railway .rancher .rclone.conf
    .rediscli_history .redisclirc .remmina .remote-sync.json .renviron .rhistory .rhosts .rosa.json
    .runpod .s3cfg .s3cmd .s3ql .saml2aws .scaleway .secret .secrethub .secrets .sentryclirc .sfdx
    .sgptrc .sh_history .shosts .smbcredentials .smbcreds .snowflake .snowsql .solana .sqlite_history
    .ssh .sshpass .step .stripe .svn .tccli .telegram-cli .tencentcloud .terraformrc .thunderbird .token
    .tokens .tsh .twilio-cli .upstash.json .vast_api_key .vault .vault-pass .vault-password .vault-token
    .vault-tokens .vault_pass .vault_pass.txt .vault_password .vaultpassword .viminfo .vultr-cli.yaml
    .wakatime.cfg .wgetrc .xauthority .xonsh_history .zcash .zhistory .zsh_history _netrc git~1
    mcp-tokens usersecrets
    """
)
"""Names of secret files, and of folders in which everything is secret."""

SECRET_FILES = _words(
    """
    .credentials.json .yarnrc.yml access_token access_token.json access_token.txt access_tokens.db
    accesstokens.json acme.json age-key.txt age-keys.txt agekey.txt api-key.json api-key.txt
    api-keys.json api_key api_key.json api_key.txt api_keys.json api_keys.txt apikey apikey.json
    apikey.txt apikeys.json apikeys.txt application_default_credentials.json auth-user-pass.txt
    auth.toml auth_user_pass.txt authinfo authorized_keys authorized_keys2 autounattend.xml azure.auth
    azureauth.json azureprofile.json backup-codes.txt basic_auth.csv bitwarden_export.json
    buildkite-agent.cfg cert8.db cert9.db chap-secrets claude_desktop_config.json clearml.conf
    confcons.xml consolehost_history.txt cookie.txt cookies cookies-journal
    cookies.binarycookies cookies.sqlite cookies.txt credential credentials credentials.csv
    credentials.db credentials.tfrc.json creds cwallet.sso dead.letter deploy_key encryption_key esmtprc
    filezilla.xml formhistory.sqlite ftpconfig gcloud-key.json gcp-key.json gha-creds.json
    github-recovery-codes.txt google_accounts.json google_compute_engine gshadow gshadow- htdigest
    htpasswd hubspot.config.yml hudson.util.secret id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk
    id_ed448 id_rsa id_xmss initial_root_password initialadminpassword jupyter_cookie_secret k3s.yaml
    kaggle.json key.properties key3.db key4.db keyfile.txt keys.agekey keystore.properties known_hosts
    krb5.keytab kube.config kubeconfig kubeconfig.yaml kubeconfig.yml lastpass_export.csv
    legacy_credentials login.json.enc logins-backup.json luks-keyfile master.passwd master_key
    mnemonic.txt mobaxterm.ini msal_http_cache.bin msal_token_cache.bin msal_token_cache.cache
    msal_token_cache.json msmtprc netrc ngrok.yml npmrc ntds.dit nuget.config oauth_creds.json odbc.ini
    opasswd pam_mount.conf.xml pap-secrets passphrase passwd passwd- passwd.client password passwords
    passwords.csv pgadmin4.db pgpass.conf pip.conf pip.ini priv_validator_key.json private-key
    private_key privatekey privkey privkey.txt publishprofile.xml pubring.kbx rclone.conf
    recentservers.xml recovery-codes.txt recovery_codes.txt refresh_token refresh_token.json
    refresh_token.txt rootkey.csv s3cfg s3cmd.ini sam.bak sasl_passwd sasl_passwd.db secret secret_key
    secret_key.txt secret_key_base secretkey secrets secring.gpg seed_phrase.txt
    service_principal_entries.json serviceprincipalentries.json settings-security.xml sftp-config.json
    sftp.json shadow shadow- signing.properties signing_key signons.sqlite sitemanager.xml
    smbcredentials smbpasswd sysprep.inf tailscaled.state talosconfig terraform.rc token token.csv
    token.pickle token.txt tokens tokens.csv tokens.json tokens.txt trustdb.gpg tunnel-credentials.json
    unattend.xml unseal.json vast_api_key vault-init.json vault-pass.txt vault-password.txt vault_pass
    vault_pass.txt vault_password vault_password.txt wallet.aes.json wallet.dat winscp.ini wp-config.php
    wpa_supplicant.conf ws_ftp.ini
    """
)
"""Names of secret files; folders of ordinary source have these names, too."""

SECRET_ENDINGS = _words(
    """
    .1pif .1pux .age .agekey .agilekeychain .authtoken .bek .bks .ccache .cookies .credentials .dpapimk
    .enpassdb .env .gpg .htpasswd .jceks .jks .jwk .kdb .kdbx .kdbx4 .key .keychain .keychain-db
    .keystore .keytab .kubeconfig .kwallet .luks .mobileprovision .nmconnection .opvault .ovpn .p12 .p8
    .password .passwords .pem .pfx .pgp .pk8 .ppk .provisionprofile .psafe3 .publishsettings
    .pubxml.user .pvk .pwdb .rdg .rdp .remmina .rsa_key .secret .secrets .skr .snk .spdb .tblk .tfstate
    .tfvars .token .truststore .wallet .walletx
    """
)
"""Extensions of keys, key stores and files of secret settings."""

SECRET_PATHS = _words(
    """
    .aider.conf.yml .brownie/accounts .bundle/config .cabal/config .cache/huggingface/stored_tokens
    .cache/huggingface/token .cargo/credentials .cargo/credentials.toml .cassandra/cqlshrc
    .cassandra/credentials .cf/config.json .chef/credentials .circleci/cli.yml .codex/auth.json
    .composer/auth.json .conan/.conan.db .conan2/credentials.json .config/1password .config/aerc
    .config/aichat .config/akeyless .config/anthropic .config/argocd .config/auth0 .config/bitwarden
    .config/borg .config/bravesoftware .config/chromium .config/configstore .config/containers/auth.json
    .config/dart/pub-credentials.json .config/dbeaver .config/discord .config/doctl .config/doppler
    .config/element .config/firebase .config/fish/fish_variables .config/gcloud .config/gh
    .config/git/credentials .config/github-copilot .config/glab-cli .config/google-chrome
    .config/google-workspace .config/gopass .config/gws .config/hcloud .config/helm/registry
    .config/helm/registry.json .config/heroku .config/hex .config/hexchat .config/himalaya .config/hub
    .config/infisical .config/io.datasette.llm .config/keepassxc .config/keybase .config/linear
    .config/linode-cli .config/microsoft-edge .config/mods .config/mullvad .config/neomutt
    .config/neonctl .config/netlify .config/ngrok .config/nordvpn .config/npm
    .config/nushell/history.txt .config/ocm .config/okta .config/op .config/openai .config/opera
    .config/planetscale .config/pnpm/rc .config/protonvpn .config/pulumi .config/pypoetry/auth.toml
    .config/rclone .config/scw .config/sentry .config/shell_gpt .config/shopify .config/signal
    .config/slack .config/snyk .config/solana .config/sops .config/sops/age .config/stripe
    .config/syncthing .config/tea .config/turso .config/twilio-cli .config/vastai .config/vercel
    .config/vivaldi .config/wandb .config/weechat/sec.conf .config/yandex-cloud .config/zed/credentials
    .continue/config.json .continue/config.yaml .databricks/token-cache.json .dbt/profiles.yml
    .docker/config.json .docker/contexts .dropbox/info.json .dzil/config.ini .expo/state.json .fly
    .fly/config.yml .foundry/keystores .gem/credentials .gemini/google_accounts.json
    .gemini/oauth_creds.json .gradle/gradle.properties .gradle/init.gradle
    .helm/repository/repositories.yaml .hex/hex.config .huggingface/token .idea/datasources.local.xml
    .idea/webservers.xml .ipython/profile_default/history.sqlite .jupyter/jupyter_notebook_config.json
    .jupyter/jupyter_server_config.json .llm/keys.json .local/share/atuin .local/share/com.vercel.cli
    .local/share/dbeaverdata .local/share/fish/fish_history .local/share/jupyter/runtime
    .local/share/keyrings .local/share/kwalletd .local/share/signal-cli .local/share/tabby-agent
    .local/share/telegramdesktop .local/share/uv/credentials .luarocks/upload_config.lua
    .m2/settings.xml .mc/config.json .mlflow/credentials .mutt/muttrc .netlify/config.json
    .pub-cache/credentials.json .purple/accounts.xml .render/cli.yaml .subversion/auth
    .supabase/access-token .terraform.d/credentials.tfrc.json .travis/config.yml .vercel/auth.json
    .vnc/passwd .weechat/sec.conf .wrangler/config etc/ipsec.d/private etc/kubernetes
    etc/letsencrypt/accounts etc/letsencrypt/archive etc/letsencrypt/live
    etc/networkmanager/system-connections etc/pki/private etc/ppp etc/ssl/private etc/swanctl/private
    etc/vpnc etc/wireguard library/cookies library/keychains run/secrets var/lib/jenkins/secrets
    """
)
"""Consecutive names in a path that are secret together, with everything below."""

_SHAPES = r"""
    \.env [._-] .*
    | (?: .* [._-] )? id_(?: rsa | dsa | ecdsa | ed25519 ) (?: [._-] (?! pub$ ) .* )?
    | ssh_host_ .* _key
    | (?: .* [._-] )? (?: client | app | oauth2? ) [-_]? secrets? (?: [-_.] .* )?
      \. (?: json | ya?ml | toml | txt )
    | oauth2? [-_.] (?: creds | credentials | tokens? ) (?: \. (?: json | ya?ml | toml | txt | pickle ) )?
    | .* firebase-adminsdk .* \. json
    | (?: .* _ )? accesskeys? (?: _ .* )? \. csv
    | .* \. (?: ya?ml | json | toml | env ) \. enc
    | .* \. (?: tfstate | tfvars ) \. .*
    | \. .* _history
    | (?: .* [-_.] )? (?: private | secret ) (?: [-_.] .* )? \. asc
    | secring .*
    | (?: .* [-_.] )? private [-_]? key (?: \. (?: txt | json | xml | der ) )?
    | .+ [-_.] (?: rsa | dsa | ecdsa | ed25519 )
    | (?: wg [-_\d] .* | wireguard .* ) \. conf
    | \. (?: envrc | gitconfig | dev\.vars ) [._-] .*
    | env \. (?: local | prod | production | staging | development )
    | (?: .* [-_.] )? deploy [-_]? key
    | (?: .* [-_.] )? vault [-_]? pass (?: wd | word )?
    | (?: .* [-_.] )? (?: vault | unseal | recovery ) [-_] keys? \. (?: json | txt )
    | (?: .* [-_. ] )? (?: backup | recovery ) [-_ ] codes? \. (?: txt | csv | json )
    | (?: .* [-_. ] )? seed [-_ ] phrase (?: \. .* )? | bitlocker [-_ ] recovery .*
    | (?: .* [-_.] )? sa [-_] key \. json | gcp [-_] sa (?: [-_] .* )? \. json
    | (?: aws | gcp | azure | db | git ) [-_] credentials
    | (?: gh | github | gitlab | vault | root | api | access | auth | bot | slack | npm | pypi ) [-_] token
    | (?: local | dev | development | prod | production | staging ) [-_.] (?: secrets? | credentials )
      \. (?: ya?ml | json | toml | ini | cfg | conf | txt | properties )
    | \. (?: .* [-_.] )? (?: oauth2? | tokens? | secrets? | credentials? | creds | passwords? | api [-_]? keys? )
      (?: [-_] [^.]* )?
      (?: (?: \. [^.]+ )* \. (?: jsonc? | ya?ml | toml | ini | cfg | conf | txt | xml | properties | csv | db ) )?
    | utc-- .* | krb5cc .*
    | age [-_]? keys? (?: [-_.] .* )? \. txt
    | (?: bitwarden | lastpass | 1password | dashlane | keepass (?: xc )? | keeper | nordpass | roboform | enpass
        | proton [-_ ]? pass | chrome | google | firefox | edge | safari | brave | opera )
      [-_ ]? (?: .* [-_ ] )? (?: exports? | vault | passwords? | logins | backup ) (?: [-_. ] .* )?
      \. (?: json | csv | txt | xml | zip )
    | login [ ] data .* | web [ ] data | local [ ] state | cookies [ ] .*
    | .* auth [-_] contexts? (?: [-_.] .* )? \. json
    | (?: .* \. )? secret \. exs | .* \. decrypt \. private \. php
    | (?: .* [-_. ] )? (?: seed | mnemonic | recovery ) [-_ ]? (?: phrases? | words | keys? | seeds? )
      (?: \. (?: txt | json | csv ) )?
    | (?: .* [-_.] )? private [-_ ]? keys? \. (?: txt | json | csv )
    | (?: .* [-_.] )? (?: gcp | gcloud | google | bigquery | firebase | gcs | sa | service ) [-_]?
      (?: service | cloud )? [-_]? keys? (?: [-_.] .* )? \. json
    | \. (?: npmrc | pypirc | netrc | pgpass | yarnrc | vault [-_]? pass .* | boto | s3cfg | htpasswd ) [-_.] .*
    | kubeconfig [-_] [^.]* | kubeconfig .* \. (?: ya?ml | json | conf | txt )
    """


@cache
def secret_shapes() -> re.Pattern[str]:
    """Return the patterns of whole names that are secret anywhere."""
    return re.compile(_SHAPES, re.VERBOSE | re.DOTALL)


SECRET_WORDS = re.compile(
    r"\.env|^env\.|\.enc|\.asc|\.tfstate\.|\.tfvars\.|id_|ssh_host_|oauth|firebase|accesskey|_history|secr|private"
    r"|utc--|kubeconfig|cred|pass|pwd|auth\.|tokens?(?:[-_. ]|$)|cookies\.|logins\.|account|rsa|dsa|ed25519|wg[-_\d]"
    r"|wireguard|api.?key|[-_. ]keys?\.|cop(?:y|ie|ia)|kopi|kopya|\(\d|vault|gitconfig|dev\.vars|deploy|codes?\."
    r"|seed|bitlocker|sa[-_]key|gcp[-_]sa|krb5cc|age[-_]?key|export|login|backup|web data|local state|cookies |mnemonic"
    r"|recover|auth[-_]context"
    r"|gcp|gcloud|google|bigquery|gcs|service|\.(?:npm|yarn|pypi|net)rc|pgpass|boto|s3cfg|htpasswd"
    r"|[-_](?:old|bak|orig|save|new|prev|tmp)|[-_.]\d{4}-?\d\d"
)
"""Every ASCII name that the patterns below and ``copy_marks`` match contains one of these."""

_UNLESS_DESCRIBED = r"""
    (?: credentials? | creds | secrets? | passwords? )
      \. (?: jsonc? | ya?ml | toml | ini | cfg | conf | txt | xml | properties | plist )
    | (?: auth | token | cookies | logins | oauth [\w-]* | (?: .* [-_.] )? service [-_]? account .* ) \. json
    | (?! (?: .* [-_.] )? (?: external | sealed | no | without | missing | invalid | rotate | manage | detect | scan
        | use | about | list | get | set | create | delete | update ) [-_.] )
      .+ [-_. ] (?: credentials | creds | secrets | passwords )
      \. (?: jsonc? | ya?ml | toml | ini | cfg | conf | txt | xml | properties | plist | csv )
    | (?: credentials? | creds | secrets? | passwords? )
      (?: [-_. ] (?: local | dev | development | prod | production | stage | staging | tests? | qa | uat | live | ci
        | backup | bak | old | new | \d+ ) )+
      \. (?: jsonc? | ya?ml | toml | ini | cfg | conf | txt | xml | properties | plist | csv )
    | (?: .* [-_.] )? (?: db | database | root | admin | mysql | postgres | postgresql | redis | mongo | smtp | ldap
        | sudo | master | vault | keystore | restic | borg | gpg | encryption )
      [-_]? (?: password | passphrase | passwd | pwd | secret ) \. (?: txt | json | ya?ml )
    | (?! (?: .* [-_.] )? (?: external | sealed | no | without | missing | invalid | rotate | manage | detect | scan
        | use | about | list | get | set | create | delete | update | test | top ) [-_.] )
      .+ [-.] secret \. (?: ya?ml | json | toml )
    | (?: .* [-_.] )? (?: api | auth | access | refresh | root | vault | bearer | oauth2? | jwt | bot | personal
        | deploy | google | gmail | gcp | github | gitlab | slack | discord | telegram | twitter | aws | azure
        | npm | pypi | hf | huggingface | openai | anthropic | claude | mcp )
      [-_. ]? (?: tokens? | api [-_]? keys? | keys )
      \. (?: json | txt | ya?ml | toml | ini | csv )
    """


@cache
def secret_unless_described() -> re.Pattern[str]:
    """Return the patterns of whole names that are secret, except below the folders ``DESCRIBING``."""
    return re.compile(_UNLESS_DESCRIBED, re.VERBOSE | re.DOTALL)


DESCRIBING = _words(
    """
    locales locale i18n l10n lang langs languages translations messages intl templates schemas schema
    openapi swagger docs fixtures __fixtures__ testdata mocks __mocks__
    """
)
"""Folders whose files describe secrets: their translations, their schemas, examples of them."""

VARIABLES = _words("group_vars host_vars")
"""Folders of Ansible in which a vault holds secret variables."""

TEMPLATES = _words("example examples sample template dist defaults tmpl tpl skel stub")
"""Parts of a name that mark a template: the form of a secret, without the secret."""

TEMPLATE_ENDINGS = _words("json jsonc yml yaml toml ini cfg conf env txt xml properties tfvars php")
"""Extensions that may follow such a part: ``secrets.example.yml``."""

BACKUPS = _words(
    "bak backup old orig original save saved swp swo swn tmp new copy prev previous disabled dpkg-old rpmsave rej"
)
"""Endings of copies: a copy of a secret is secret."""

_COPY = r"""
    ^ copy [ ] (?: \( \d+ \) [ ] )? of [ ]
    | [-_] (?: old | bak | backup | orig | original | save | new | prev (?: ious )? | tmp
        | \d{4}-?\d\d-?\d\d (?: [-_t] \d{2,6} )? )
      (?= (?: \. [^.]* )? $ )
    | (?: (?<![ _–-]) [ _–-]++ (?: copy | kopie | kopi | kopia | kopya | copie | copia | cópia | копия | 副本 )
          (?: [ _-]? \d+ )?
        | のコピー (?: [ ]? \d+ )?
        | [ ]? \( (?: \d+ | copy | kopie | kopia | copie | copia | копия | 副本 ) \) )
      (?= (?: \. [^.]* )? $ )
    """


@cache
def copy_marks() -> re.Pattern[str]:
    """Return what file managers add to the name of a copy, at its end or before the extension: ``.env copy``."""
    return re.compile(_COPY, re.VERBOSE)


_PARTS = re.compile(r"[._-]")
_SECRET_PATH_STARTS = frozenset(path.split("/", 1)[0] for path in SECRET_PATHS)


def is_too_long(path: str) -> bool:
    """Return whether no file can have the path."""
    if len(path) <= MAX_NAME:
        return False
    return len(path) > MAX_PATH or any(len(name) > MAX_NAME for name in path.split("/"))


@cache
def _secret_path() -> re.Pattern[str]:
    return re.compile("(?:^|/)(?:" + "|".join(map(re.escape, sorted(SECRET_PATHS))) + ")(?:/|$)")


def is_sensitive(names: list[str]) -> bool:
    """Return whether a path, given as its names in comparable form, is a usual one for secrets."""
    if not SECRET_ANYWHERE.isdisjoint(names):
        return True
    if not _SECRET_PATH_STARTS.isdisjoint(names) and any(
        _secret_path().search("/".join([*names[:-1], name])) for name in (names[-1], *_originals(names[-1]))
    ):
        return True
    if any(name.startswith(".") and not SECRET_ANYWHERE.isdisjoint(_originals(name)) for name in names[:-1]):
        return True
    return any(_is_secret_name(name, names) for name in _originals(names[-1]))


def _is_secret_name(name: str, names: list[str]) -> bool:
    if name in SECRET_ANYWHERE:
        return True
    known = name in SECRET_FILES or ("." in name and f".{name.rpartition('.')[2]}" in SECRET_ENDINGS)
    if name == "tokens.json":  # in an ordinary folder these are the colours and sizes of a design, or translations
        known = len(names) == 1 or any(folder.startswith(".") for folder in names[:-1])
    if name in {"vault", "vault.yml", "vault.yaml"}:  # elsewhere it is what a vault consists of
        known = not VARIABLES.isdisjoint(names[:-1])
    return (known or _has_secret_shape(name, names)) and not _is_template(name)


def _has_secret_shape(name: str, names: list[str]) -> bool:
    # The patterns are slow to match, and most names contain none of their words.
    if SECRET_WORDS.search(name) is None:
        return False
    if secret_shapes().fullmatch(name):
        return True
    return secret_unless_described().fullmatch(name) is not None and DESCRIBING.isdisjoint(names[:-1])


def _originals(name: str) -> Iterator[str]:
    """Yield ``name`` without the marks of a copy, one after another: ``#id_rsa#``, ``.env (1)``, ``tls.key.txt``."""
    yield (name := _without_editor_marks(name))
    while (shorter := _without_one_mark(name)) != name:
        name = shorter
        yield name


def _without_editor_marks(name: str) -> str:
    """Return ``name`` without what Emacs, Vim and macOS put around the name of the file they stand for."""
    if name.startswith((".#", "._")) and len(name) > 2:
        name = name[2:]
    elif name.startswith(".") and name.endswith((".swp", ".swo", ".swn")):
        name = name[1:-4] or name
    return name.strip("#").rstrip("~") or name


def _without_one_mark(name: str) -> str:
    stem, _, ending = name.rpartition(".")
    # A number may be the section of a manual: passwd.5 keeps its name.
    if stem and (ending in BACKUPS or ending == "txt" or (ending.isdigit() and "." in stem)):
        return stem.rstrip("~")
    if name.isascii() and SECRET_WORDS.search(name) is None:  # no mark of a copy, either
        return name.strip() or name
    return copy_marks().sub("", name, count=1).strip() or name


def _is_template(name: str) -> bool:
    parts = _PARTS.split(name)
    if parts[-1] in TEMPLATE_ENDINGS and len(parts) > 1:
        parts.pop()
    return parts[-1] in TEMPLATES
