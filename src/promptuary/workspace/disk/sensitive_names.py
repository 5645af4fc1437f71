"""The tables of ``policy``: which names are text, and which are secrets.

All in lower case. Data only: ``policy`` compares names with them. The long patterns are compiled when a name first
needs them, which most names never do.
"""

import re
from functools import cache


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
    .1password .access_token .acme.sh .aliyun .anthropic .anthropic_api_key .anthropic_key .api-key
    .api_key .apikey .auth_token .authinfo .authinfo.gpg .aws .azure .bash_history .bitcoin .bitwarden
    .bluemix .boto .bzr .claude.json .cloudflared .comet.config .condarc .credentials .creds .curlrc
    .databrickscfg .davfs2 .dbshell .dev.vars .dockercfg .dockerconfigjson .electrum .enpass .env
    .env-cmdrc .envrc .envs .erlang.cookie .esmtprc .ethereum .fetchmailrc .fish_history .ftpconfig
    .gcloud .ghci_history .git .git-credentials .gitconfig .gitcookies .github_token .gnupg .hg .hgrc
    .histfile .htdigest .htpasswd .ibmcloud .iceauthority .irb_history .jj .k5login .kaggle .keychain
    .keyring .keyrings .ksh_history .kube .lastpass .lesshst .lftprc .linode-cli .mbsyncrc .mcp-auth
    .minikube .modal.toml .monero .mongorc.js .mozilla .msmtprc .muttrc .my.cnf .mylogin.cnf
    .mysql_history .netrc .ngrok2 .node_repl_history .npmrc .oci .offlineimaprc .openai .openai_api_key
    .openai_key .pass .passwd .passwd-s3fs .password .password-store .passwords .pg_service.conf .pgpass
    .pki .private .pry_history .psql_history .putty .pypirc .python_history .railway .rclone.conf
    .rediscli_history .redisclirc .remote-sync.json .renviron .rhosts .s3cfg .s3ql .secret .secrets
    .sentryclirc .sh_history .shosts .smbcredentials .snowflake .snowsql .sqlite_history .ssh .step .svn
    .terraformrc .thunderbird .token .tokens .tsh .vault .vault-pass .vault-token .vault_pass
    .vault_pass.txt .vault_password .viminfo .wgetrc .xauthority .zhistory .zsh_history _netrc git~1
    mcp-tokens
    """
)
"""Names of secret files, and of folders in which everything is secret."""

SECRET_FILES = _words(
    """
    .credentials.json .yarnrc.yml access_token access_token.json access_token.txt access_tokens.db
    accesstokens.json api-key.txt api-keys.json api_key api_key.txt api_keys.json api_keys.txt apikey
    apikey.txt apikeys.json apikeys.txt application_default_credentials.json auth.toml authinfo
    authorized_keys authorized_keys2 autounattend.xml azureauth.json azureprofile.json backup-codes.txt
    bitwarden_export.json buildkite-agent.cfg cert8.db cert9.db chap-secrets consolehost_history.txt
    cookie.txt cookies cookies.binarycookies cookies.sqlite cookies.txt credential credentials
    credentials.csv credentials.db creds cwallet.sso deploy_key encryption_key filezilla.xml ftpconfig
    gcloud-key.json gcp-key.json gha-creds.json github-recovery-codes.txt gshadow gshadow- htdigest
    htpasswd hudson.util.secret id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk id_ed448 id_rsa
    id_xmss initial_root_password initialadminpassword jupyter_cookie_secret k3s.yaml kaggle.json
    key.properties key3.db key4.db keystore.properties known_hosts krb5.keytab kube.config kubeconfig
    kubeconfig.yaml kubeconfig.yml lastpass_export.csv legacy_credentials master.passwd master_key
    mnemonic.txt msal_token_cache.json netrc ngrok.yml ntds.dit nuget.config oauth_creds.json pap-secrets
    passphrase passwd passwd- password passwords passwords.csv pgpass.conf pip.conf pip.ini private-key
    private_key privatekey pubring.kbx rclone.conf recentservers.xml recovery-codes.txt recovery_codes.txt
    refresh_token refresh_token.json refresh_token.txt rootkey.csv secret secret_key secret_key.txt
    secret_key_base secretkey secrets secring.gpg seed_phrase.txt settings-security.xml sftp-config.json
    sftp.json shadow shadow- signing.properties signing_key signons.sqlite sitemanager.xml smbpasswd
    sysprep.inf tailscaled.state talosconfig terraform.rc token token.pickle token.txt tokens tokens.json
    tokens.txt trustdb.gpg unattend.xml vault-init.json vault-pass.txt vault-password.txt vault_pass
    vault_pass.txt vault_password vault_password.txt wallet.dat winscp.ini wp-config.php
    wpa_supplicant.conf ws_ftp.ini
    """
)
"""Names of secret files; folders of ordinary source have these names, too."""

SECRET_ENDINGS = _words(
    """
    .1pux .age .agilekeychain .bks .ccache .cookies .credentials .env .gpg .htpasswd .jceks .jks .kdb
    .kdbx .key .keychain .keychain-db .keystore .keytab .kubeconfig .kwallet .mobileprovision
    .nmconnection .opvault .ovpn .p12 .p8 .password .passwords .pem .pfx .pgp .pk8 .ppk .provisionprofile
    .psafe3 .publishsettings .pvk .rdg .rdp .secret .secrets .skr .snk .tblk .tfstate .tfvars .token
    .truststore .wallet
    """
)
"""Extensions of keys, key stores and files of secret settings."""

SECRET_PATHS = _words(
    """
    .bundle/config .cache/huggingface/stored_tokens .cache/huggingface/token .cargo/credentials
    .cargo/credentials.toml .cf/config.json .composer/auth.json .config/1password .config/bitwarden
    .config/chromium .config/configstore .config/containers/auth.json .config/doctl .config/gcloud
    .config/gh .config/git/credentials .config/github-copilot .config/glab-cli .config/google-chrome
    .config/hcloud .config/heroku .config/hub .config/linode-cli .config/netlify .config/ngrok .config/op
    .config/pypoetry/auth.toml .config/rclone .config/scw .config/sops/age .config/stripe
    .config/weechat/sec.conf .databricks/token-cache.json .dbt/profiles.yml .docker/config.json
    .dropbox/info.json .fly/config.yml .gem/credentials .gradle/gradle.properties .huggingface/token
    .idea/datasources.local.xml .idea/webservers.xml .local/share/fish/fish_history .local/share/keyrings
    .local/share/kwalletd .m2/settings.xml .mutt/muttrc .purple/accounts.xml .subversion/auth
    .supabase/access-token .terraform.d/credentials.tfrc.json .weechat/sec.conf .wrangler/config
    etc/kubernetes etc/ssl/private etc/wireguard library/cookies library/keychains run/secrets
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
    | utc--\d{4}-\d\d-\d\dt .*
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
    r"|seed|bitlocker|sa[-_]key|gcp[-_]sa"
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
    | (?: k8s | kubernetes ) [-_.] secret \. ya?ml
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

TEMPLATES = _words("example examples sample template dist defaults tmpl tpl skel stub")
"""Parts of a name that mark a template: the form of a secret, without the secret."""

TEMPLATE_ENDINGS = _words("json jsonc yml yaml toml ini cfg conf env txt xml properties tfvars php")
"""Extensions that may follow such a part: ``secrets.example.yml``."""

BACKUPS = _words("bak backup old orig save swp swo tmp new copy")
"""Endings of copies: a copy of a secret is secret."""

_COPY = r"""
    ^ copy [ ] (?: \( \d+ \) [ ] )? of [ ]
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
