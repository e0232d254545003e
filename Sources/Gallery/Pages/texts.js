/**
 * Holds every text of the page, in English and German, and writes numbers and dates in the chosen language.
 * @module
 */

import { isolated } from "./names.js";

/** @typedef {"en" | "de"} Language */
/**
 * A text; where it depends on a number `n`, the forms for one and for others.
 * @typedef {string | [string, string]} Text
 */

/**
 * English, then German.
 * @type {<K extends string>(table: Record<K, [Text, Text]>) => Record<K, [Text, Text]>}
 */
const define = (table) => table;

export const table = define({
  appName: ["Album", "Album"],

  // Login
  password: ["Password", "Passwort"],
  unlock: ["Unlock", "Entsperren"],
  loginHint: ["The password opens its own albums.", "Das Passwort öffnet seine eigenen Alben."],
  lock: ["Lock", "Sperren"],
  lockTitle: ["Lock, and forget everything on this page", "Sperren und alles auf dieser Seite vergessen"],
  sessionEnded: ["The session is over: the server was restarted, or it locked the album.",
    "Die Sitzung ist zu Ende: Der Server wurde neu gestartet, oder er hat das Album gesperrt."],
  uploadsWait: [["{n} file is not saved yet. It goes on when you log in to the same albums.",
    "{n} files are not saved yet. They go on when you log in to the same albums."],
  ["{n} Datei ist noch nicht gespeichert. Sie geht weiter, wenn du dieselben Alben öffnest.",
    "{n} Dateien sind noch nicht gespeichert. Sie gehen weiter, wenn du dieselben Alben öffnest."]],
  slowFor: [["Please wait {n} second.", "Please wait {n} seconds."], ["Bitte {n} Sekunde warten.",
    "Bitte {n} Sekunden warten."]],

  // Views
  views: ["Views", "Ansichten"],
  albums: ["Albums", "Alben"],
  allPhotos: ["All photos", "Alle Fotos"],
  recent: ["Recent", "Neu dazu"],
  recentlyAdded: ["Recently added", "Neu hinzugekommen"],
  byDate: ["By date", "Nach Datum"],
  byDateShort: ["By date", "Datum"],
  up: ["One level up", "Eine Ebene höher"],
  more: ["More", "Mehr"],
  close: ["Close", "Schließen"],
  cancel: ["Cancel", "Abbrechen"],
  done: ["Done", "Fertig"],
  tryAgain: ["Try again", "Noch einmal"],
  notLoaded: ["This could not be loaded", "Das ließ sich nicht laden"],
  photosLabel: ["Photos", "Fotos"],
  photoCount: [["{n} photo", "{n} photos"], ["{n} Foto", "{n} Fotos"]],
  otherCount: [["{n} other file", "{n} other files"], ["{n} andere Datei", "{n} andere Dateien"]],
  albumCount: [["{n} album", "{n} albums"], ["{n} Album", "{n} Alben"]],
  nothingInside: ["Empty", "Leer"],
  noPhotos: ["No photos yet", "Noch keine Fotos"],
  noPhotosHere: ["Drop photos here, or choose them.", "Fotos hierher ziehen oder auswählen."],
  noPhotosToTouch: ["Choose photos to upload.", "Wähle Fotos zum Hochladen."],
  noPhotosAnywhere: ["Photos of all albums appear here.", "Hier erscheinen die Fotos aller Alben."],
  noAlbums: ["No albums", "Keine Alben"],
  noAlbumsText: ["Create an album to put photos into.", "Lege ein Album an, das Fotos aufnimmt."],
  recentlyDeleted: ["Recently deleted", "Zuletzt gelöscht"],
  recentlyDeletedText: ["What you delete stays here until its days are over.",
    "Was du löschst, bleibt hier, bis seine Tage vorbei sind."],
  nothingDeleted: ["Nothing was deleted", "Nichts gelöscht"],
  fileCount: [["{n} file", "{n} files"], ["{n} Datei", "{n} Dateien"]],
  daysLeft: [["{n} day left", "{n} days left"], ["noch {n} Tag", "noch {n} Tage"]],
  places: ["Places", "Orte"],
  placeCount: [["{n} place", "{n} places"], ["{n} Ort", "{n} Orte"]],
  noPlaces: ["No places", "Keine Orte"],
  noPlacesText: ["Photos and videos that state where they were taken appear here by their nearest town.",
    "Fotos und Videos, die sagen, wo sie aufgenommen wurden, erscheinen hier nach der nächsten Stadt."],
  duplicates: ["Duplicates", "Doppelte"],
  duplicatesText: ["Photos that you have more than once, in all albums. Selected are only copies without which nothing is "
    + "lost: one with the same content stays. What you delete can come back from “Recently deleted”.",
  "Fotos, die du mehrmals hast, in allen Alben. Ausgewählt sind nur Kopien, ohne die nichts verloren geht: Eine mit "
    + "gleichem Inhalt bleibt. Was du löschst, kommt aus „Zuletzt gelöscht“ zurück."],
  duplicatesSearched: ["Comparing photos…", "Fotos werden verglichen …"],
  noDuplicates: ["Nothing is there twice", "Nichts ist doppelt"],
  noDuplicatesText: ["Photos that you have more than once would appear here.",
    "Hier erschienen Fotos, die du mehrmals hast."],
  setCount: [["{n} photo more than once", "{n} photos more than once"], ["{n} Foto mehrmals", "{n} Fotos mehrmals"]],
  unhashed: [["{n} picture was compared by its content only.", "{n} pictures were compared by their content only."],
    ["{n} Bild wurde nur nach seinem Inhalt verglichen.", "{n} Bilder wurden nur nach ihrem Inhalt verglichen."]],
  keptCopy: ["Stays", "Bleibt"],
  sameContent: ["Same content", "Gleicher Inhalt"],
  samePicture: ["Same picture", "Gleiches Bild"],
  oneStays: ["One of them stays.", "Eines davon bleibt."],
  earlierVersion: ["Earlier version", "Frühere Fassung"],
  showMore: ["Show more", "Mehr anzeigen"],
  restore: ["Restore", "Wiederherstellen"],
  restoreAll: ["Restore all", "Alle wiederherstellen"],
  restoreSome: ["Restore {n}", "{n} wiederherstellen"],
  restoredFiles: [["{n} file restored", "{n} files restored"],
    ["{n} Datei wiederhergestellt", "{n} Dateien wiederhergestellt"]],
  deleteForGood: ["Delete for good", "Endgültig löschen"],
  deleteAllForGood: ["Delete all for good", "Alle endgültig löschen"],
  deleteForGoodSome: ["Delete {n} for good", "{n} endgültig löschen"],
  deleteForGoodTitle: [["Delete {n} file for good?", "Delete {n} files for good?"],
    ["{n} Datei endgültig löschen?", "{n} Dateien endgültig löschen?"]],
  deleteForGoodText: ["This cannot be undone. The password of the albums confirms it.",
    "Das lässt sich nicht rückgängig machen. Das Passwort der Alben bestätigt es."],
  goneForGood: [["{n} file deleted for good", "{n} files deleted for good"],
    ["{n} Datei endgültig gelöscht", "{n} Dateien endgültig gelöscht"]],
  beingMade: ["Being made…", "Entsteht noch …"],
  goToDate: ["Go to a date", "Zu einem Datum"],
  video: ["Video", "Video"],
  other: ["File", "Datei"],

  // Search
  search: ["Search", "Suche"],
  searchPhotos: ["Words, dates, cameras, tags", "Wörter, Daten, Kameras, Schlagwörter"],
  searchHint: ["Type what you remember", "Tippe, woran du dich erinnerst"],
  searchHintText: ["A name, an album, a caption, a tag, a camera, “june 2019”, “video”. A minus leaves out: -video.",
    "Ein Name, ein Album, eine Beschreibung, ein Schlagwort, eine Kamera, „Juni 2019“, „Video“. Ein Minus schließt "
    + "aus: -video."],
  nothingFound: ["Nothing found", "Nichts gefunden"],
  nothingFoundText: ["All words must be found. Try fewer.", "Alle Wörter müssen vorkommen. Versuche es mit weniger."],
  favourites: ["Favourites", "Favoriten"],
  noFavouritesText: ["Photos with a star appear here.", "Hier erscheinen Fotos mit einem Stern."],
  videos: ["Videos", "Videos"],
  screenshots: ["Screenshots", "Bildschirmfotos"],
  panoramas: ["Panoramas", "Panoramen"],
  livePhotos: ["Live Photos", "Live-Fotos"],
  rawPhotos: ["Raw", "Raw"],

  // What belongs together
  live: ["LIVE", "LIVE"],
  livePhoto: ["Live Photo", "Live-Foto"],
  playLive: ["Play the Live Photo", "Live-Foto abspielen"],
  rawSign: ["RAW+JPEG", "RAW+JPEG"],
  rawAndPicture: ["Raw with its picture", "Raw mit seinem Bild"],
  withEdit: ["with an edited version", "mit bearbeiteter Fassung"],
  withFiles: ["with files that belong to it", "mit Dateien, die dazugehören"],
  belongs: ["Belongs together", "Gehört zusammen"],
  partRaw: ["Raw", "Raw"],
  partPhoto: ["Photo", "Foto"],
  partFilm: ["Video", "Video"],
  partEdited: ["Edited", "Bearbeitet"],
  partSidecar: ["Sidecar", "Begleitdatei"],
  downloadFile: ["Download {name} alone", "Nur {name} herunterladen"],
  deleteFile: ["Delete {name} alone", "Nur {name} löschen"],
  deletedFiles: [["{n} file deleted", "{n} files deleted"], ["{n} Datei gelöscht", "{n} Dateien gelöscht"]],

  // Looking
  keys: ["Keys", "Tasten"],
  keysEverywhere: ["Everywhere", "Überall"],
  keyBack: ["Back, or clear the selection", "Zurück, oder Auswahl aufheben"],
  keyMove: ["Go to another photo", "Zu einem anderen Foto"],
  keyOpen: ["Open", "Öffnen"],
  keyRange: ["Select several", "Mehrere auswählen"],
  keyNeighbours: ["Next, previous", "Weiter, zurück"],
  keyEnds: ["First, last", "Erstes, letztes"],
  keyPlay: ["Play, or hide the bars", "Abspielen, oder Leisten ausblenden"],
  keyZoom: ["Zoom", "Vergrößern"],
  larger: ["Larger pictures", "Größere Bilder"],
  smaller: ["Smaller pictures", "Kleinere Bilder"],
  slideshow: ["Slideshow", "Diashow"],
  fullScreen: ["Full screen", "Vollbild"],
  sortBy: ["Sort by…", "Sortieren nach …"],
  sortByName: ["Name", "Name"],
  sortByOldest: ["Date, oldest first", "Datum, älteste zuerst"],
  sortByNewest: ["Date, newest first", "Datum, neueste zuerst"],
  sortByAdded: ["File, newest first", "Datei, neueste zuerst"],
  selectMonth: ["Select all of {month}", "Alle vom {month} auswählen"],
  rotating: ["Rotating: {done} of {n}", "Drehen: {done} von {n}"],
  rotated: [["{n} photo rotated", "{n} photos rotated"], ["{n} Foto gedreht", "{n} Fotos gedreht"]],
  filmCount: [["{n} video", "{n} videos"], ["{n} Video", "{n} Videos"]],
  showPassword: ["Show the password", "Passwort zeigen"],
  hidePassword: ["Hide the password", "Passwort verbergen"],
  triesAgain: ["The page tries again by itself.", "Die Seite versucht es von selbst wieder."],

  // What people say of photos
  favourite: ["Favourite", "Favorit"],
  caption: ["Caption", "Beschreibung"],
  addCaption: ["Add a caption", "Beschreibung hinzufügen"],
  tags: ["Tags", "Schlagwörter"],
  addTags: ["Tags, with commas between", "Schlagwörter, mit Kommas"],
  people: ["People", "Personen"],
  rating: ["Rating", "Bewertung"],
  stars: [["{n} star", "{n} stars"], ["{n} Stern", "{n} Sterne"]],
  rejected: ["Rejected", "Verworfen"],
  place: ["Place", "Ort"],
  noDate: ["Unknown", "Unbekannt"],
  correctDate: ["Correct the date", "Datum korrigieren"],
  originalDate: ["Original date", "Ursprüngliches Datum"],
  save: ["Save", "Speichern"],

  // Albums
  newAlbum: ["New album", "Neues Album"],
  albumName: ["Name of the album", "Name des Albums"],
  create: ["Create", "Anlegen"],
  renameAlbum: ["Rename album", "Album umbenennen"],
  moveAlbum: ["Move album", "Album verschieben"],
  downloadAlbum: ["Download album", "Album herunterladen"],
  deleteAlbum: ["Delete album", "Album löschen"],
  deleteAlbumTitle: ["Delete “{name}”?", "„{name}“ löschen?"],
  deleteAlbumText: ["The album is deleted with everything in it: {content}.",
    "Das Album wird mit allem gelöscht, was darin ist: {content}."],
  deleteEmptyAlbum: ["The album is empty.", "Das Album ist leer."],
  importAddresses: ["Import from addresses…", "Von Adressen importieren …"],
  importTitle: ["Import from addresses", "Von Adressen importieren"],
  importLabel: ["Addresses of pictures and videos, one a line", "Adressen von Bildern und Videos, eine pro Zeile"],
  importHint: ["The server loads them; this page does not. Their servers see the address of this album's server.",
    "Der Server lädt sie, nicht diese Seite. Die anderen Server sehen die Adresse des Servers dieses Albums."],
  importAction: ["Import", "Importieren"],
  importing: ["Importing: {done} of {n}", "Importieren: {done} von {n}"],
  importingBytes: ["Importing: {done} of {n} · {bytes}", "Importieren: {done} von {n} · {bytes}"],
  imported: [["{n} address imported", "{n} addresses imported"],
    ["{n} Adresse importiert", "{n} Adressen importiert"]],
  deletedAlbum: ["Deleted “{name}”", "„{name}“ gelöscht"],
  resetCover: ["Choose the cover automatically", "Titelbild automatisch wählen"],
  searchAlbums: ["Search albums", "Alben suchen"],
  chooseAlbum: ["Choose an album", "Album wählen"],
  choose: ["Choose", "Wählen"],

  // Selection and jobs
  select: ["Select", "Auswählen"],
  selection: ["Selection", "Auswahl"],
  selectPhotos: ["Select photos", "Fotos auswählen"],
  selected: ["{n} selected", "{n} ausgewählt"],
  selectAll: ["Select all", "Alle auswählen"],
  selectAllShort: ["All", "Alle"],
  selectDay: ["Select all of {day}", "Alle vom {day} auswählen"],
  clearSelection: ["Clear the selection", "Auswahl aufheben"],
  delete: ["Delete", "Löschen"],
  move: ["Move", "Verschieben"],
  moveShort: ["Move", "Ver\u00ADschieben"],
  copy: ["Copy", "Kopieren"],
  movePhotos: [["Move {n} photo to", "Move {n} photos to"], ["{n} Foto verschieben nach", "{n} Fotos verschieben nach"]],
  copyPhotos: [["Copy {n} photo to", "Copy {n} photos to"], ["{n} Foto kopieren nach", "{n} Fotos kopieren nach"]],
  undo: ["Undo", "Rückgängig"],
  undone: ["Nothing was deleted.", "Es wurde nichts gelöscht."],
  cancelled: ["Cancelled.", "Abgebrochen."],
  show: ["Show", "Anzeigen"],
  deletedPhotos: [["{n} photo deleted", "{n} photos deleted"], ["{n} Foto gelöscht", "{n} Fotos gelöscht"]],
  deletedDone: [["{n} item deleted", "{n} items deleted"], ["{n} Element gelöscht", "{n} Elemente gelöscht"]],
  deleting: ["Deleting: {done} of {n}", "Löschen: {done} von {n}"],
  moving: ["Moving: {done} of {n}", "Verschieben: {done} von {n}"],
  copying: ["Copying: {done} of {n}", "Kopieren: {done} von {n}"],
  moved: [["{n} photo moved", "{n} photos moved"], ["{n} Foto verschoben", "{n} Fotos verschoben"]],
  copied: [["{n} photo copied", "{n} photos copied"], ["{n} Foto kopiert", "{n} Fotos kopiert"]],
  failedOf: ["{failed} of {n} failed", "{failed} von {n} fehlgeschlagen"],

  // Viewer
  viewer: ["Photo", "Foto"],
  previous: ["Previous", "Zurück"],
  next: ["Next", "Weiter"],
  photoOf: ["{n} of {total}", "{n} von {total}"],
  information: ["Information", "Informationen"],
  download: ["Download", "Herunterladen"],
  downloadShort: ["Download", "Herunter\u00ADladen"],
  downloadBegins: ["The download begins.", "Der Download beginnt."],
  rotate: ["Rotate", "Drehen"],
  makeCover: ["Make this the cover", "Als Titelbild nehmen"],
  coverMade: ["This is the cover of the album now.", "Das ist nun das Titelbild des Albums."],
  showOriginal: ["Original size", "Originalgröße"],
  videoUnplayable: ["This browser cannot play this video. Download it instead.",
    "Dieser Browser kann das Video nicht abspielen. Es lässt sich herunterladen."],
  noPreview: ["There is no preview of this file. It can be downloaded.",
    "Von dieser Datei gibt es keine Vorschau. Sie lässt sich herunterladen."],
  rename: ["Rename", "Umbenennen"],
  renamePhoto: ["Rename photo", "Foto umbenennen"],
  name: ["Name", "Name"],
  taken: ["Taken", "Aufgenommen"],
  modified: ["File changed", "Datei geändert"],
  camera: ["Camera", "Kamera"],
  lens: ["Lens", "Objektiv"],
  exposure: ["Exposure", "Belichtung"],
  pixels: ["Pixels", "Bildpunkte"],
  size: ["Size", "Größe"],
  album: ["Album", "Album"],

  // Upload
  upload: ["Upload", "Hochladen"],
  uploadFolder: ["Upload a folder", "Ordner hochladen"],
  uploads: ["Uploads", "Uploads"],
  dropHere: ["Drop photos or folders", "Fotos oder Ordner hier ablegen"],
  toUpload: [["{n} file to upload", "{n} files to upload"], ["{n} Datei zum Hochladen", "{n} Dateien zum Hochladen"]],
  into: ["Into", "In"],
  startUpload: ["Start", "Starten"],
  cancelUpload: ["Cancel the upload", "Upload abbrechen"],
  cancelUploadText: [["{n} file is not saved yet.", "{n} files are not saved yet."],
    ["{n} Datei ist noch nicht gespeichert.", "{n} Dateien sind noch nicht gespeichert."]],
  uploadingOf: ["Uploading {done} of {n}", "{done} von {n} hochgeladen"],
  pause: ["Pause", "Pause"],
  paused: ["Paused", "Pause"],
  resume: ["Resume", "Fortsetzen"],
  tryNow: ["Try now", "Jetzt versuchen"],
  retryAll: ["Retry all", "Alle wiederholen"],
  remove: ["Remove", "Entfernen"],
  removeFromUpload: ["Do not upload {name}", "{name} nicht hochladen"],
  fold: ["Fold the panel", "Anzeige einklappen"],
  waitingForConnection: ["Waiting for the connection", "Warten auf die Verbindung"],
  diskFull: ["The disk is full", "Der Speicher ist voll"],
  allSaved: [["{n} file is saved", "All {n} files are saved"], ["{n} Datei ist gespeichert",
    "Alle {n} Dateien sind gespeichert"]],
  savedCount: ["{n} saved", "{n} gespeichert"],
  thereCount: ["{n} already there", "{n} schon vorhanden"],
  failedCount: ["{n} failed", "{n} fehlgeschlagen"],
  ofBytes: ["{done} of {total}", "{done} von {total}"],
  savedAs: ["as {name}", "als {name}"],
  jpegOfHeic: ["JPEG that the phone made of a HEIC", "JPEG, vom Telefon aus einem HEIC erzeugt"],
  jpegPerhapsOfHeic: ["JPEG, perhaps made of a HEIC", "JPEG, vielleicht aus einem HEIC"],
  liveWithVideo: ["Live Photo with its video", "Live-Foto mit Video"],
  liveWithoutVideo: ["Live Photo without its video", "Live-Foto ohne sein Video"],
  ready: ["", ""],
  waiting: ["Waiting", "Wartet"],
  sending: ["Sending", "Wird gesendet"],
  finishing: ["Saving", "Wird gespeichert"],
  saved: ["Saved", "Gespeichert"],
  there: ["Already there", "Schon da"],
  failed: ["Failed", "Fehlgeschlagen"],
  secondsLeft: [["{n} second left", "{n} seconds left"], ["noch {n} Sekunde", "noch {n} Sekunden"]],
  minutesLeft: [["{n} minute left", "{n} minutes left"], ["noch {n} Minute", "noch {n} Minuten"]],
  hoursLeft: [["{n} hour left", "{n} hours left"], ["noch {n} Stunde", "noch {n} Stunden"]],
  iphoneHint: ["An iPhone hands out a JPEG copy of a HEIC photo unless “Options: Current” is set in the picker, and "
    + "never the video of a Live Photo. Each file shows what arrived.",
  "Ein iPhone gibt statt eines HEIC-Fotos eine JPEG-Kopie heraus, wenn in der Auswahl nicht „Optionen: Aktuell“ "
    + "eingestellt ist, und nie das Video eines Live-Fotos. Bei jeder Datei steht, was ankam."],

  // Reception from phones
  receive: ["Receive from phones", "Von Handys empfangen"],
  receiveText: ["In the app LocalSend on the phone, choose photos and send them to “{device}”. It asks for this PIN:",
    "In der App LocalSend auf dem Handy Fotos wählen und an „{device}“ senden. Sie fragt nach dieser PIN:"],
  pin: ["PIN", "PIN"],
  receiveAddress: ["If “{device}” does not appear there, add its address and port to the favourites: {address}.",
    "Wenn „{device}“ dort nicht erscheint, Adresse und Port zu den Favoriten hinzufügen: {address}."],
  receiveUnreachable: ["Phones cannot reach this gallery. Start it with \u2060-\u2060-\u2060listen.",
    "Handys erreichen diese Galerie nicht. Starte sie mit \u2060-\u2060-\u2060listen."],
  receiveWaiting: ["Waiting for a phone", "Warten auf ein Handy"],
  receivingOf: ["Receiving {done} of {n}", "{done} von {n} empfangen"],
  stopReceiving: ["Stop receiving", "Empfang beenden"],
  receiveEnded: ["Nothing is received any more.", "Es wird nichts mehr empfangen."],
  receiveGuessed: ["Too many wrong PINs were tried, so nothing is received any more.",
    "Es wurden zu viele falsche PINs versucht, deshalb wird nichts mehr empfangen."],

  // Failures, by the code of the server
  error_offline: ["The server cannot be reached.", "Der Server ist nicht erreichbar."],
  error_session: ["The album was locked.", "Das Album wurde gesperrt."],
  error_refused: ["Wrong password.", "Falsches Passwort."],
  error_origin: ["The server does not accept this address.", "Der Server nimmt diese Adresse nicht an."],
  error_unknown: ["It no longer exists.", "Das gibt es nicht mehr."],
  error_exists: ["This name is taken.", "Diesen Namen gibt es schon."],
  error_link: ["A link is in the way, which the gallery does not follow.",
    "Ein Verweis ist im Weg, dem die Galerie nicht folgt."],
  error_name: ["This name is not possible.", "Dieser Name ist nicht möglich."],
  error_invalid: ["The server did not understand this.", "Der Server hat das nicht verstanden."],
  error_large: ["The file is too large.", "Die Datei ist zu groß."],
  error_range: ["The file is shorter than expected.", "Die Datei ist kürzer als erwartet."],
  error_slow: ["Too many attempts. Wait a little.", "Zu viele Versuche. Bitte kurz warten."],
  error_room: ["The disk is full.", "Der Speicher ist voll."],
  error_readonly: ["This album cannot be changed.", "Dieses Album lässt sich nicht ändern."],
  error_damaged: ["The file is damaged.", "Die Datei ist beschädigt."],
  error_busy: ["The server is busy.", "Der Server ist beschäftigt."],
  error_address: ["This is no address from which something can be loaded.",
    "Von dieser Adresse lässt sich nichts laden."],
  error_local: ["The address is not public.", "Die Adresse ist nicht öffentlich."],
  error_unreachable: ["Its server cannot be reached.", "Ihr Server ist nicht erreichbar."],
  error_missing: ["Its server has nothing there, or refuses.", "Dort gibt es nichts, oder der Server verweigert es."],
  error_nopicture: ["It is neither a picture nor a video.", "Es ist weder Bild noch Video."],
  error_unrotatable: ["This photo cannot be rotated.", "Dieses Foto lässt sich nicht drehen."],
  error_gone: ["The file cannot be read any more. Choose it again.",
    "Die Datei lässt sich nicht mehr lesen. Bitte neu auswählen."],
  error_failed: ["It failed.", "Das ist fehlgeschlagen."],
});

/** @typedef {keyof typeof table} TextKey */

/** @type {Language} */
let current = "en";

export function language() {
  return current;
}

/** @param {Language} to */
export function setLanguage(to) {
  current = to;
  formats.clear();
  if (typeof document !== "undefined") document.documentElement.lang = to;
}

/**
 * Takes the first language of a person that the page has.
 * @param {readonly string[]} preferred
 */
export function chooseLanguage(preferred) {
  const found = preferred.map((each) => each.slice(0, 2)).find((each) => each === "de" || each === "en");
  setLanguage(found === "de" ? "de" : "en");
}

/**
 * Returns a text with its values.
 * @param {TextKey} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
  const text = table[key][current === "de" ? 1 : 0];
  const form = typeof text === "string" ? text : text[values.n === 1 ? 0 : 1];
  return form.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    return typeof value === "number" ? formatNumber(value) : value === undefined ? whole : isolated(value);
  });
}

/**
 * Says in words what failed.
 * @param {unknown} error  an error with a code
 */
export function explain(error) {
  const code = /** @type {{code?: unknown}} */ (error ?? {}).code;
  const key = `error_${typeof code === "string" ? code : "failed"}`;
  return t(key in table ? /** @type {TextKey} */ (key) : "error_failed");
}

/**
 * Says what is in an album: photos, other files, albums.
 * @param {{photos: number, videos?: number, others: number, albums: number}} counts  `photos` counts videos, too
 */
export function describeCounts({ photos, videos = 0, others, albums }) {
  const stills = photos - videos;
  const parts = [
    albums > 0 && t("albumCount", { n: albums }),
    stills > 0 && t("photoCount", { n: stills }),
    videos > 0 && t("filmCount", { n: videos }),
    others > 0 && t("otherCount", { n: others }),
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(", ") : t("nothingInside");
}

/**
 * Formatters cost too much to make for each use.
 * @type {Map<string, Intl.DateTimeFormat | Intl.NumberFormat>}
 */
const formats = new Map();

/**
 * @param {string} name
 * @param {Intl.DateTimeFormatOptions} options
 */
function dateFormat(name, options) {
  let format = formats.get(name);
  if (!format) formats.set(name, (format = new Intl.DateTimeFormat(locale(), options)));
  return /** @type {Intl.DateTimeFormat} */ (format);
}

/** Returns the person's own variant of the language, for the order of day and month. */
function locale() {
  const own = typeof navigator === "undefined" ? undefined
    : navigator.languages?.find((each) => each.startsWith(current));
  return own ?? (current === "de" ? "de-DE" : "en-GB");
}

/** @param {number} value */
export function formatNumber(value) {
  let format = formats.get("number");
  if (!format) formats.set("number", (format = new Intl.NumberFormat(locale())));
  return /** @type {Intl.NumberFormat} */ (format).format(value);
}

/** @param {number} bytes */
export function formatBytes(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let power = 0;
  let value = bytes;
  while (value >= 999.5 && power < units.length - 1) {
    value /= 1000;
    power += 1;
  }
  const digits = value < 10 && power > 0 ? 1 : 0;
  const number = value.toLocaleString(locale(), { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${number} ${units[power]}`;
}

/**
 * What a camera says of how it took a photo; what it does not say is null or missing.
 * @typedef {{exposure?: number | null, aperture?: number | null, iso?: number | null, focalLength?: number | null,
 *   focalLength35?: number | null}} Exposure
 */

/**
 * Writes exposure as photographers do: `1/125 s · f/1.8 · ISO 64 · 6.9 mm (26 mm)`.
 * @param {Exposure} facts
 */
export function formatExposure({ exposure, aperture, iso, focalLength, focalLength35 }) {
  const short = (/** @type {number} */ value) => value.toLocaleString(locale(), { maximumFractionDigits: 1 });
  const film = focalLength35 && focalLength && Math.abs(focalLength35 - focalLength) >= 1
    && ` (${formatNumber(focalLength35)} mm)`;
  return [
    exposure && (exposure < 0.4 ? `1/${formatNumber(Math.round(1 / exposure))} s` : `${short(exposure)} s`),
    aperture && `f/${short(aperture)}`,
    iso && `ISO ${iso}`,
    focalLength && `${short(focalLength)} mm${film || ""}`,
  ].filter(Boolean).join(" · ");
}

/**
 * Writes how long a film is: `1:15`, `1:02:03`.
 * @param {number} seconds
 */
export function formatDuration(seconds) {
  const whole = Math.max(1, Math.round(seconds));
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

/** @param {number} seconds */
export function formatTimeLeft(seconds) {
  if (seconds < 55) return t("secondsLeft", { n: Math.max(5, Math.ceil(seconds / 5) * 5) });
  if (seconds < 5400) return t("minutesLeft", { n: Math.max(1, Math.round(seconds / 60)) });
  return t("hoursLeft", { n: Math.round(seconds / 3600) });
}

const secondsOfDay = 86_400;

/**
 * Writes a day, counted since 1970.
 * @param {number} day
 */
export function formatDay(day) {
  return dateFormat("day", { weekday: "long", day: "numeric", month: "long", year: "numeric", timeZone: "UTC" })
    .format(day * secondsOfDay * 1000);
}

/** @param {number} day */
export function formatMonth(day) {
  return dateFormat("month", { month: "long", year: "numeric", timeZone: "UTC" }).format(day * secondsOfDay * 1000);
}

/** @param {number} day */
export function yearOf(day) {
  return new Date(day * secondsOfDay * 1000).getUTCFullYear();
}

/** @param {number} seconds */
export function formatDate(seconds) {
  return dateFormat("date", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" }).format(seconds * 1000);
}

/**
 * Writes date and time.
 * @param {number} seconds
 * @param {boolean} cameraClock  whether it is the time of a camera, which knows no time zone
 */
export function formatDateLong(seconds, cameraClock) {
  /** @type {Intl.DateTimeFormatOptions} */
  const options = { dateStyle: "long", timeStyle: "short" };
  if (cameraClock) options.timeZone = "UTC";
  return dateFormat(cameraClock ? "camera" : "long", options).format(seconds * 1000);
}
