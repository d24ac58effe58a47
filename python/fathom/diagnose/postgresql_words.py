"""What PostgreSQL and the C library write when data is damaged or a device fails, in the languages they have.

Sources: PostgreSQL 15, src/backend/po/*.po (severities, labels, and the messages of md.c, bufmgr.c, bufpage.c, fd.c,
toast_internals.c, nbtpage.c, slru.c and xlog.c); glibc, po/*.po, and musl, `strerror` of EIO and EROFS; PostgreSQL
documentation, "Error Codes".
"""

# ruff: noqa: RUF001 - letters of other scripts are meant
from __future__ import annotations

SEVERITIES = (
    "LOG|NOTICE|WARNING|ERROR|FATAL|PANIC|DEBUG[1-5]?"
    "|HINWEIS|WARNUNG|FEHLER|PANIK|ATTENTION|ERREUR|NOTIFICA|ATTENZIONE|ERRORE|FATALE|PANICO|ERRO|AVISO|PÂNICO"
    "|LOGG|NOTIS|VARNING|FEL|FATALT|BŁĄD|KATASTROFALNY|PANIKA|OSTRZEŻENIE|DZIENNIK|HATA|CHYBA|VAROVÁNÍ"
    "|СООБЩЕНИЕ|ЗАМЕЧАНИЕ|ПРЕДУПРЕЖДЕНИЕ|ОШИБКА|ВАЖНО|ПАНИКА|ОТЛАДКА"
    "|ЗАПИСУВАННЯ|ПОВІДОМЛЕННЯ|ПОПЕРЕДЖЕННЯ|ПОМИЛКА|ФАТАЛЬНО|ПАНІКА|НАЛАГОДЖЕННЯ"
    "|로그|알림|경고|오류|치명적오류|손상|디버그|日志|注意|警告|错误|致命错误|比致命错误还过分的错误|调试"
    "|ჟურნალი|გაფრთხილება|შეცდომა|ფატალური|პანიკა|გამართვა"
)
"""How serious a message is."""
LABELS = (
    "DETAIL|STATEMENT|QUERY|CONTEXT|HINT|BACKTRACE|LOCATION"
    "|ANWEISUNG|ANFRAGE|ZUSAMMENHANG|TIPP|ORT|DETALLE|SENTENCIA|CONSULTA|CONTEXTO|UBICACIÓN"
    "|DÉTAIL|INSTRUCTION|REQUÊTE|CONTEXTE|ASTUCE|PILE D'APPEL|EMPLACEMENT"
    "|DETTAGLI|ISTRUZIONE|CONTESTO|SUGGERIMENTO|POSIZIONE|詳細|文|問い合わせ|文脈|ヒント|バックトレース|場所"
    "|DETALJ|SATS|FRÅGA|KONTEXT|TIPS|PLATS|ПОДРОБНОСТИ|ОПЕРАТОР|ЗАПРОС|КОНТЕКСТ|ПОДСКАЗКА|СТЕК|ПОЛОЖЕНИЕ"
    "|ВІДОМОСТІ|ІНСТРУКЦІЯ|ЗАПИТ|УКАЗІВКА|ВІДСТЕЖУВАТИ|РОЗТАШУВАННЯ"
    "|상세정보|명령 구문|쿼리|내용|힌트|역추적|위치|详细信息|语句|查询|上下文|提示|位置"
    "|დეტალები|ოპერატორი|მოთხოვნა|კონტექსტი|მინიშნება|სტეკი|მდებარეობა"
)
"""What a line tells of the message above it: much of it is the text of a user's statement."""

FSYNC = (
    r"could not fsync |konnte .* nicht fsyncen|no se pudo sincronizar \(fsync\)|"
    r"n'a pas pu synchroniser sur disque \(fsync\)|fsync (?:del|della) .* fallit[oa]|"
    r"ファイル.*をfsyncできませんでした|\S+ 파일 fsync 실패|"
    r"не удалось синхронизировать с ФС|kunde inte fsync:a|не вдалося fsync|无法 ?fsync|ფაილის .*fsync-ის შეცდომა"
)
"""An fsync failed."""
DAMAGED = (
    r"invalid page in block|ungültige Seite in Block|la página no es válida en el bloque|page invalide dans le bloc|"
    r"pagina non valida nel blocco|リレーション.*(?:不正なページ|ページが不正です)|\d+ 블록.*잘못된 페이지|"
    r"некорректная страница в блоке|(?:ogiltig|felaktig) sida i block|неприпустима сторінка в блоці|"
    r"关系.*块.*无效的页|ურთიერთობის.*არასწორ გვერდი|"
    r"page verification failed|Seitenüberprüfung fehlgeschlagen|la suma de verificación falló|"
    r"échec de la vérification de la page|verifica della pagina fallita|ページ検証が失敗しました|페이지 검사 실패|"
    r"ошибка проверки страницы|sidverifiering misslyckades|помилка перевірки сторінки|页校验失败|"
    r"could not read blocks? .*: read only \d+ of \d+ bytes|konnte Bl.*es wurden nur \d+ von \d+ Bytes gelesen|"
    r"no se pud.*se leyeron sólo \d+ de \d+ bytes|n'a pas pu lire.*a lu seulement \d+ octets|"
    r"lettura de.*letti soli \d+ byte di \d+|ファイル.*バイト分のみ読み取りました|"
    r"\d+ 블[럭록].*\d+ / \d+ 바이트만 읽음|"
    r"не удалось прочитать.*прочитано байт: \d+ из \d+|kunde inte läsa.*läste bara \d+ av \d+ byte|"
    r"не вдалося прочитати.*прочитано лише \d+ з \d+ байт|无法读取.*只读取了\d+字节的\d+|"
    r"(?:missing|unexpected) chunk number \d+ .*for toast value|corrupted page pointers|"
    r'index ".*" contains (?:unexpected zero|corrupted) page|incorrect checksum in control file|'
    r"could not access status of transaction"
)
"""A page, a value or a file of the server is damaged, or a file ends before a page."""
EIO = (
    "Input/output error|(?:Remote )?I/O error|Structure needs cleaning|"
    "Eingabe-/Ausgabefehler|Error de entrada/salida|Erreur d['’]entrée/sortie|"
    "Errore di input/output|入力/出力エラーです|입력/출력 오류|Ошибка ввода/вывода|In/ut-fel|"
    "Помилка введення-виведення|"
    "输入/输出错误|輸入/輸出錯誤|Erro de [Ee]ntrada/saída|Błąd wejścia/wyjścia|Chyba vstupu/výstupu|Girdi/Çıktı hatası|"
    "Invoer-/uitvoerfout|I/O-virhe|Inddata/uddata-fejl|Inn/ut-feil|Kimeneti/bemeneti hiba|Lỗi vào/ra|"
    "Σφάλμα εισόδου/εξόδου"
)
"""The device did not read or write (`EIO`), or its file system broke."""
EROFS = (
    "Read-only file system|Das Dateisystem ist nur lesbar|Sistema de ficheros de sólo lectura|"
    "Système de fichiers accessible en lecture seulement|File system in sola lettura|読み込み専用ファイルシステムです|"
    "읽기전용 파일 시스템|Файловая система доступна только для чтения|Skrivskyddat filsystem|"
    "Файлова система тільки для зчитування|只读文件系统|唯讀的檔案系統|Sistema de arquivos somente para leitura|"
    "System plików wyłącznie do odczytu"
)
"""The file system takes no writes."""
STATE_OF_DEVICE, STATES_OF_DATA = "58030", ("XX001", "XX002")
"""SQLSTATEs of `EIO` (`io_error`), and of damaged data and indexes: they depend on no language."""
