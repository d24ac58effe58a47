"""Failed I/O and damaged data in the forms and languages that servers write; and users' text that says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fathom.diagnose import log as reader
from fathom.diagnose.source import LogError

AT = "2026-03-02 09:00:12.114 UTC [1123] "
SQL = "2026-03-02 02:14:07.53 spid61      "
MYSQL = {"prio": 1, "err_symbol": "ER_IB_MSG_767", "SQL_state": "HY000", "subsystem": "InnoDB", "label": "Error"}
CSV = '2026-03-02 09:04:34.000 UTC,"app","shop",9912,"10.0.0.1:5",65e.26b8,3,"SELECT",2026-03-02 09:00:01 UTC,3/21,0,'
RDS = "2026-03-02 09:04:34 UTC::@:[512]:"
FSYNC = 'could not fsync file "base/16384/16399": Input/output error'
NAMED = {
    "InnoDB's fsync": ("2026-03-02T10:00:03.123456Z 0 [ERROR] InnoDB: fsync() returned EIO, aborting.\n", "dump what"),
    "InnoDB's fsync, fatal": (
        "2026-03-02T10:00:03.1Z 0 [ERROR] [MY-013622] [InnoDB] [FATAL] fsync() returned EIO, aborting.\n", "dump what",
    ),
    "MySQL as JSON": (
        json.dumps({"msg": "Operating system error number 5 in a file operation.", **MYSQL}) + "\n", "dump what",
    ),
    "behind page_cleaner": (
        json.dumps({"msg": "page_cleaner: 1000ms intended loop took 12345ms.", **MYSQL}) + "\n"
        + json.dumps({"msg": "fsync() returned EIO, aborting.", **MYSQL}) + "\n", "dump what",
    ),
    "17053": (f"{SQL}E:\\a.ldf: Operating system error 1117(an I/O device error.) encountered.\n", "DBCC CHECKDB"),
    "17053 in German": (f"{SQL}SQLServerLogMgr::LogWriter: Ein Betriebssystemfehler 21(Das Gerät ist nicht bereit)\n",
                        "DBCC CHECKDB"),
    "log flush": (f"{SQL}Write error during log flush.\n", "DBCC CHECKDB"),
    "9001": (f"{SQL}Error: 9001, Severity: 21, State: 4.\n", "DBCC CHECKDB"),
    "605": (f"{SQL}Error: 605, Severity: 21, State: 3.\n", "DBCC CHECKDB"),
    "823 in German": (f"{SQL}Fehler: 823, Schweregrad: 24, Status: 2.\n", "DBCC CHECKDB"),
    "823 in French": (f"{SQL}Erreur\u00a0: 823, Gravité\u00a0: 24, État\u00a0: 2.\n", "DBCC CHECKDB"),
    "824 in Japanese": (f"{SQL}エラー: 824、重大度: 24、状態: 2。\n", "DBCC CHECKDB"),
    "CHECKDB": (f"{SQL}DBCC CHECKDB (a) executed by SA found 3 errors and repaired 0 errors.\n", "restore what"),
    "German": (f"{AT}PANIK:  konnte Datei »base/1« nicht fsyncen: Eingabe-/Ausgabefehler\n", "do not trust"),
    "French": (f"{AT}ERREUR:  page invalide dans le bloc 12 de la relation base/1\n", "pg_checksums"),
    "Spanish": (f"{AT}WARNING:  la suma de verificación falló, se calculó 1 pero se esperaba 4\n", "pg_checksums"),
    "Italian": (f'{AT}PANICO:  fsync del file "base/1" fallito: Errore di input/output\n', "do not trust"),
    "Japanese": (f'{AT}PANIC:  ファイル"base/1"をfsyncできませんでした: 入力/出力エラーです\n', "do not trust"),
    "Russian": (f"{AT}ОШИБКА:  некорректная страница в блоке 12 отношения base/1\n", "pg_checksums"),
    "Ukrainian": (f'{AT}ПАНІКА:  не вдалося fsync файл "base/1": Помилка введення-виведення\n', "do not trust"),
    "Swedish": (f'{AT}FEL:  kunde inte läsa block 4 i fil "base/1": In/ut-fel\n', "copy what can still be read"),
    "Korean": (f"{AT}경고:  페이지 검사 실패, 계산된 체크섬은 1234, 기대값은 4321\n", "pg_checksums"),
    "Chinese": (f'{AT}错误:  无法在文件"base/1"中读取块12: 输入/输出错误\n', "copy what can still be read"),
    "a state": (f'{CSV}FEHLER,XX001,"was auch immer",,,,,,"SELECT 1",,,"psql","client backend",,0\n', "pg_checksums"),
    "a state of I/O": (f'{CSV}PANIK,58030,"konnte nicht",,,,,,,,,"psql","client backend",,0\n', "copy what"),
    "a state as JSON": (
        '{"timestamp":"2026-03-02 09:00:00 UTC","error_severity":"ERROR","state_code":"XX002","message":"index"}\n',
        "pg_checksums",
    ),
    "a chunk": (f"{AT}ERROR:  missing chunk number 0 for toast value 123 in pg_toast_2619\n", "pg_checksums"),
    "a page that is not there": (
        f'{AT}ERROR:  could not read block 5 in file "base/1": read only 0 of 8192 bytes\n', "pg_checksums",
    ),
    "an index": (f'{AT}ERROR:  index "a_pkey" contains unexpected zero page at block 0\n', "pg_amcheck"),
    "a page of MariaDB": (
        "2026-03-02 10:00:03 0 [ERROR] InnoDB: page 3 of './a.ibd': Page read from tablespace is corrupted.\n", "dump",
    ),
    "no writes": (f'{AT}ERROR:  could not extend file "base/1": Read-only file system\n', "first error in dmesg"),
    "a failed read": (f'{AT}ERROR:  could not read block 4 in file "base/1": Input/output error\n', "did not read"),
    "musl": (f'{AT}PANIC:  could not fsync file "base/1": I/O error\n', "do not trust"),
    "RDS": (f"{RDS}PANIC:  {FSYNC}\n", "the provider runs this server"),
    "RDS by CloudWatch": (
        json.dumps({"events": [{"timestamp": 1, "message": f"{RDS}PANIC:  {FSYNC}"}]}, indent=1) + "\n",
        "the provider runs this server",
    ),
    "Windows' events": (
        'Level,Date and Time,Source,Event ID,Task Category\nWarning,05/03/2026 10:10:04,storahci,129,None,"Reset"\n',
        "its array or host",
    ),
    "German events": (
        'Ebene;Datum und Uhrzeit;Quelle;Ereignis-ID\nFehler;05.03.2026 10:10:04;disk;7;Keine;"Fehlerhafter Block"\n',
        "replace the drive",
    ),
    "events of PowerShell": (
        '"TimeCreated","Id","LevelDisplayName","ProviderName"\n"3/5/2026","153","Warnung","disk","wiederholt"\n',
        "its array or host",
    ),
    "NTFS": ("Level,Date and Time,Source,Event ID\nError,05/03/2026 10:10:05,Ntfs,55,None,A corruption\n", "chkdsk"),
}  # fmt: skip
KERNEL = "blk_update_request: I/O error, dev sda, sector 8"
FINE = {
    "parameters": f"{AT}LOG:  duration: 1800.2 ms  execute <unnamed>: SELECT $1\n"
    f"{AT}DETAIL:  parameters: $1 = '{KERNEL}'\n",
    "a statement": f"{AT}LOG:  duration: 12.1 ms  statement: INSERT INTO t VALUES ('{FSYNC}')\n"
    f"{AT}ERROR:  duplicate key\n"
    f"{AT}STATEMENT:  INSERT INTO t VALUES ('Error: 824, Severity: 24, invalid page in block')\n",
    "a statement of several lines": f"{AT}LOG:  statement: INSERT INTO t VALUES ('\n"
    f"\t{KERNEL}\n\tPANIC:  {FSYNC}\n\t')\n",
    "a German statement": f"{AT}FEHLER:  doppelter Schlüssel\n{AT}ANWEISUNG:  INSERT INTO t VALUES ('{KERNEL}')\n",
    "a statement in csvlog": f'{CSV}ERROR,23505,"duplicate",,,,,,"INSERT\n{KERNEL}\n",,,"psql","client backend",,0\n',
    "a statement in JSON": '{"timestamp":"2026-03-02 09:00:00 UTC","error_severity":"ERROR","state_code":"23505",'
    f'"message":"duplicate key","statement":"INSERT \'{KERNEL}\'"}}\n',
    "a statement that Docker collected": json.dumps({"log": f"{AT}LOG:  statement: insert into t values ('\n"}) + "\n"
    f"{json.dumps({'log': chr(9) + KERNEL})}\n",
    "a slow statement": f"# User@Host: a[a] @ []\n# Query_time: 12.5  Lock_time: 0.1\nselect '{KERNEL}';\n",
    "a general log": "2026-03-02T10:00:00.1Z 0 [Note] on\n"
    f"2026-03-02T10:00:03.123456Z\t   12 Query\tselect '{KERNEL}'\n",
    "a file that is gone": f'{AT}LOG:  could not fsync file "base/1": No such file or directory\n',
    "605 of a dirty read": f"{SQL}Error: 605, Severity: 12, State: 3.\n",
    "CHECKDB": f"{SQL}DBCC CHECKDB (a) executed by SA found 0 errors and repaired 0 errors.\n",
    "a backup's share": f"{SQL}BackupDiskFile::CreateMedia: Backup device failed. Operating system error 64(gone.).\n",
    "another table with disks": "time,kind,id,value\n2026-03-02 10:00:00,disk,7,1\n2026-03-02 10:00:00,disk,11,1\n",
    "a statement in InnoDB's monitor": "2026-03-02T10:00:00.1Z 0 [Note] deadlock\nMySQL thread id 11, query id 77 app\n"
    f"INSERT INTO t VALUES ('{KERNEL}')\n",
    "another's 129": "Level,Date and Time,Source,Event ID\nWarning,05/03/2026,Time-Service,129,None,NtpClient\n",
}


def refusal(path: Path, text: str) -> LogError:
    path.write_text(text)
    with pytest.raises(LogError) as raised:
        # A healthy log beside it must not hide it.
        reader.read([Path(__file__).parent / "samples" / "sql_server.csv", path])
    return raised.value


@pytest.mark.parametrize("case", NAMED)
def test_failed_io_is_said_beside_other_logs(tmp_path: Path, case: str) -> None:
    text, first = NAMED[case]
    error = refusal(tmp_path / "log", text)
    assert "this log names" in str(error)
    assert "put no load on" in str(error.remedy)
    assert first in str(error.remedy)


@pytest.mark.parametrize("case", FINE)
def test_what_users_wrote_is_no_evidence(tmp_path: Path, case: str) -> None:
    path = tmp_path / "log"
    path.write_text(FINE[case])
    with pytest.raises(LogError) as raised:
        reader.read([path])
    assert "this log names" not in str(raised.value)


def test_a_provider_s_server_is_not_to_be_copied(tmp_path: Path) -> None:
    remedy = str(refusal(tmp_path / "log", NAMED["RDS"][0]).remedy)
    assert "data directory" not in remedy
    assert "smartctl" not in remedy
    assert "server's disks" not in remedy


def test_a_failed_read_is_no_failed_fsync(tmp_path: Path) -> None:
    assert "fsync" not in str(refusal(tmp_path / "log", NAMED["a failed read"][0]).remedy)


@pytest.mark.parametrize("level", ["СООБЩЕНИЕ", "로그", "日志", "LOGG", "ЗАПИСУВАННЯ"])
def test_messages_of_postgresql_are_known_in_other_scripts(tmp_path: Path, level: str) -> None:
    path = tmp_path / "log"
    path.write_text(f"{AT}{level}:  checkpoint\n")
    with pytest.raises(LogError, match="PostgreSQL's log of messages"):
        reader.read([path])


def test_833_is_known_in_other_languages(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(
        f"{SQL}SQL Server hat 12 Vorkommen von E/A-Anforderungen festgestellt, deren Abschluss länger als 15 Sekunden "
        "dauerte, für die Datei '[E:\\a.mdf]' in der Datenbank '[a]' (5). Das Handle lautet '0x0000000000000A1C'.\n"
    )
    with pytest.raises(LogError, match="message 833"):
        reader.read([path])
