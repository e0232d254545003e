/**
 * Holds what belongs to a session, and puts views, bars, viewer and uploads together.
 * @module
 */

import { Actions, attempt } from "./actions.js";
import { pickAlbum } from "./album-picker.js";
import { post } from "./api.js";
import { AlbumCards, describeLibrary, emptyNote, labelledButton } from "./albums-view.js";
import { Navigation, SelectionBar, TopBar } from "./bars.js";
import { DeletedView } from "./deleted.js";
import { closeDialogs, showMenu } from "./dialogs.js";
import { fill, h } from "./dom.js";
import { DropZone } from "./drop-zone.js";
import { DuplicatesView } from "./duplicates.js";
import { back, followHistory, forgetHistory, go, here, replace } from "./history.js";
import { Jobs } from "./jobs.js";
import { albumAt, unsavedFiles } from "./kept-uploads.js";
import { showKeys } from "./keys-dialog.js";
import { Library } from "./library.js";
import { favourites, PhotosView } from "./photos-view.js";
import { PlacesView } from "./places-view.js";
import { SearchField } from "./search-view.js";
import { Selection } from "./selection.js";
import { language, setLanguage, t } from "./texts.js";
import { Thumbnails } from "./thumbnails.js";
import { clearToasts, toastHost } from "./toasts.js";
import { pickedFiles } from "./upload-files.js";
import { UploadPanel } from "./upload-panel.js";
import { UploadQueue } from "./upload-queue.js";
import { httpTransport } from "./upload-transport.js";
import { Viewer } from "./viewer.js";

/** @typedef {import("./history.js").Route} Route */
/** @typedef {import("./history.js").Entry} Entry */
/** @typedef {import("./bars.js").BarAction} BarAction */
/** @typedef {import("./listing.js").Photo} Photo */

/** Memory for thumbnails: about a thousand, which is several screens. */
const thumbnailBytes = 40 << 20;
/** What the picker offers; browsers do not count all of these as images. */
const pickable = "image/*,video/*,.heic,.heif,.avif,.jxl,.dng,.cr2,.cr3,.nef,.arw,.raf,.orf,.rw2";

export class Gallery {
  library = new Library();
  thumbnails = new Thumbnails(thumbnailBytes);
  selection = new Selection();
  jobs;
  uploads;
  actions;
  #host;
  #lock;
  #shell = h("div", { class: "shell" });
  #main = h("main", { class: "content" });
  #note = h("div");
  /**
   * The albums that the one shown lies in, outermost first; where to go when it is gone.
   * @type {string[]}
   */
  #parents = [];
  /**
   * @type {{navigation: Navigation, top: TopBar, selection: SelectionBar, panel: UploadPanel,
   *   drop: DropZone}}
   */
  #parts;
  /** @type {PhotosView | null} */
  #photos = null;
  /** @type {AlbumCards | null} */
  #albums = null;
  /** @type {DeletedView | null} */
  #deleted = null;
  /** @type {DuplicatesView | null} */
  #duplicates = null;
  /** @type {PlacesView | null} */
  #places = null;
  /** @type {SearchField | null} */
  #search = null;
  /** @type {Viewer | null} */
  #viewer = null;
  #viewerIndex = 0;
  #info;
  /** @type {Map<string, import("./listing.js").Sort>} the orders of albums that a person chose */
  #sorts = new Map();

  /**
   * @param {HTMLElement} host
   * @param {import("./session.js").SessionInfo} info
   * @param {() => void} lock
   */
  constructor(host, info, lock) {
    this.#host = host;
    this.#lock = lock;
    this.#info = info;
    this.library.readOnly = info.readOnly;
    this.library.imports = info.imports === true;
    this.jobs = new Jobs(() => void this.#refresh());
    this.actions = new Actions(this.library, this.jobs, this.thumbnails);
    this.uploads = new UploadQueue(httpTransport(info));
    this.#parts = this.#makeParts();
    this.library.onChange((changes) => this.#changed(changes));
    this.selection.onChange(() => this.#selectionChanged());
    addEventListener("keydown", this.#key);
    addEventListener("beforeunload", this.#askToStay);
    followHistory((entry, before) => this.#arrive(entry, before));
  }

  /** Loads the albums, and shows them. */
  async begin() {
    this.#build();
    await this.library.load();
    this.#show(here());
    // The page is another one for a screen reader, too.
    this.#parts.top.focusTitle();
    void this.library.follow();
  }

  /**
   * Returns the files that are not saved yet; null where there are none, or where nothing would tell that the next
   * session is of the same space.
   * @returns {import("./kept-uploads.js").KeptUploads | null}
   */
  unsaved() {
    const { space, idleSeconds } = this.#info;
    const files = unsavedFiles(this.uploads, this.library);
    return files.length > 0 && space ? { space, idleSeconds, files } : null;
  }

  /**
   * Goes on with files that an earlier session did not save.
   * @param {import("./kept-uploads.js").KeptFile[]} files
   */
  goOn(files) {
    /** @type {Map<string | null, import("./upload-queue.js").UploadFile[]>} */
    const albums = new Map();
    for (const { path, file } of files) {
      const album = albumAt(this.library, path);
      albums.set(album, [...(albums.get(album) ?? []), file]);
    }
    for (const [album, kept] of albums) {
      this.uploads.album = album;
      this.uploads.add(kept);
      // Without its album a file waits for the person to choose another.
      if (album !== null) this.uploads.start();
    }
  }

  /** Forgets everything that came from the server, and takes it off the screen. */
  remove() {
    removeEventListener("keydown", this.#key);
    removeEventListener("beforeunload", this.#askToStay);
    forgetHistory();
    closeDialogs();
    this.uploads.stop();
    this.jobs.stop();
    this.library.stop();
    this.#leaveView();
    this.#removeParts();
    this.selection.clear();
    this.thumbnails.clear();
    clearToasts();
    this.#host.replaceChildren();
  }

  #makeParts() {
    const panel = new UploadPanel(this.uploads, {
      chooseAlbum: () => this.#chooseUploadAlbum(),
      albumName: () => this.library.album(this.uploads.album ?? "")?.name ?? null,
    });
    return {
      navigation: new Navigation((view) => go(view === "search" ? { view, text: "" } : { view })),
      top: new TopBar(this.#lock),
      selection: new SelectionBar({
        clear: () => this.selection.clear(),
        selectAll: () => this.#selectAll(),
      }),
      panel,
      drop: new DropZone((files) => this.#takeFiles(files)),
    };
  }

  #removeParts() {
    this.#parts.panel.remove();
    this.#parts.drop.remove();
  }

  #build() {
    const { navigation, top, selection, panel, drop } = this.#parts;
    fill(this.#shell, navigation.element,
      h("div", { class: "page" }, top.element, selection.element, this.#main), panel.element, drop.element);
    fill(this.#host, this.#shell, toastHost);
    panel.update();
  }

  /** @param {"en" | "de"} to */
  #switchLanguage(to) {
    setLanguage(to);
    this.#leaveView();
    this.#removeParts();
    this.#parts = this.#makeParts();
    this.#build();
    this.#show(here());
  }

  /**
   * @param {Entry} entry
   * @param {Entry} before
   */
  #arrive(entry, before) {
    if (sameRoute(entry.route, before.route) && entry.viewer !== before.viewer && this.#photos) {
      if (entry.viewer) this.#openViewer();
      else this.#closeViewer();
      return;
    }
    this.selection.clear();
    this.#show(entry);
    if (entry.route.view !== "search" || entry.route.text !== "") this.#parts.top.focusTitle();
  }

  #leaveView() {
    this.#viewer?.remove();
    this.#viewer = null;
    this.#shell.inert = false;
    this.#photos?.remove();
    this.#albums?.remove();
    this.#deleted?.remove();
    this.#duplicates?.remove();
    this.#places?.remove();
    this.#search?.remove();
    this.#photos = this.#albums = this.#deleted = this.#duplicates = this.#places = this.#search = null;
    this.#main.replaceChildren();
    document.documentElement.classList.remove("viewing");
  }

  /** @param {Entry} entry */
  #show(entry) {
    const { route } = entry;
    if (route.view === "album" && !this.library.album(route.album)) {
      replace({ view: "albums" });
      return;
    }
    // A view that was left with the viewer open comes back without it.
    entry.viewer = false;
    this.#leaveView();
    const isBelowAlbums = ["album", "deleted", "duplicates", "places", "place"].includes(route.view);
    this.#parts.navigation.mark(isBelowAlbums ? "albums" : route.view);
    if (route.view === "albums") this.#showAlbums();
    else if (route.view === "deleted") this.#showDeleted();
    else if (route.view === "duplicates") this.#showDuplicates();
    else if (route.view === "places") this.#showPlaces();
    else this.#showPhotos(route, entry.scroll);
    this.#describe();
    if (route.view === "albums") scrollTo({ top: entry.scroll });
  }

  #showAlbums() {
    const open = (/** @type {string} */ album) => go({ view: "album", album });
    this.#albums = new AlbumCards(this.library, this.thumbnails, null, open);
    const deleted = labelledButton("remove", t("recentlyDeleted"), () => go({ view: "deleted" }), "plain to-deleted");
    const duplicates = labelledButton("duplicates", t("duplicates"), () => go({ view: "duplicates" }),
      "plain to-duplicates");
    const places = labelledButton("place", t("places"), () => go({ view: "places" }), "plain to-places");
    fill(this.#main, this.#albums.element, this.#note, h("div", { class: "below-albums" }, places, duplicates, deleted));
    this.#drawAlbums();
  }

  #showDeleted() {
    scrollTo({ top: 0 });
    this.#deleted = new DeletedView(this.library.readOnly, () => this.#count());
    fill(this.#main, this.#deleted.element);
    void this.#deleted.load();
  }

  #showDuplicates() {
    scrollTo({ top: 0 });
    this.#duplicates = new DuplicatesView(this.library.readOnly, this.thumbnails, {
      counted: () => this.#count(),
      remove: (ids) => this.actions.deletePhotos(ids),
    });
    fill(this.#main, this.#duplicates.element);
    void this.#duplicates.search();
  }

  #showPlaces() {
    scrollTo({ top: 0 });
    this.#places = new PlacesView(this.library, this.thumbnails, {
      counted: () => this.#count(),
      open: (place, name) => go({ view: "place", place, name }),
    });
    fill(this.#main, this.#places.element);
    void this.#places.load();
  }

  #drawAlbums() {
    if (!this.#albums) return;
    this.#albums.draw();
    const empty = this.library.children(null).length === 0;
    const create = !this.library.readOnly
      && labelledButton("add", t("newAlbum"), () => void this.actions.createAlbum(null));
    fill(this.#note, empty && emptyNote(t("noAlbums"), t("noAlbumsText"), create));
  }

  /**
   * @param {Exclude<Route, {view: "albums" | "deleted" | "duplicates" | "places"}>} route
   * @param {number} scroll
   */
  #showPhotos(route, scroll) {
    scrollTo({ top: 0 });
    this.#photos = new PhotosView(this, this.#queryOf(route), {
      scroll,
      open: (index) => {
        this.#viewerIndex = index;
        go(here().route, true);
      },
      replaced: (listing) => this.#viewer?.update(listing),
      openAlbum: (album) => go({ view: "album", album }),
      counted: () => this.#count(),
    });
    if (route.view === "search") {
      this.#search = new SearchField(route.text, (text) => {
        // The way back leads to what was typed last.
        route.text = text;
        this.selection.clear();
        this.#photos?.find(text);
      });
    }
    fill(this.#main, this.#search?.element, this.#photos.element);
    if (route.view === "search" && route.text === "") this.#search?.focus();
    void this.#photos.load();
  }

  /**
   * @param {Exclude<Route, {view: "albums" | "deleted" | "duplicates" | "places"}>} route
   * @returns {import("./listing.js").Query}
   */
  #queryOf(route) {
    if (route.view !== "album") return queryOf(route);
    return { album: route.album, sort: this.#sorts.get(route.album) ?? "name" };
  }

  /** @param {string} album */
  #chooseOrder(album) {
    const button = this.#parts.top.element.querySelector("[aria-haspopup=menu]");
    const current = this.#sorts.get(album) ?? "name";
    const orders = /** @type {const} */ ([
      ["name", "sortByName"], ["oldest", "sortByOldest"], ["newest", "sortByNewest"], ["added", "sortByAdded"],
    ]);
    showMenu(/** @type {HTMLElement} */ (button), orders.map(([sort, text]) => ({
      label: t(text), icon: sort === current ? "check" : "sort", checked: sort === current,
      run: () => {
        this.#sorts.set(album, sort);
        this.#photos?.sort(sort);
      },
    })));
  }

  /** Says in the bar what is shown, and offers what can be done with it. */
  #describe() {
    const { route } = here();
    const texts = /** @type {const} */ ({
      albums: "albums", all: "allPhotos", recent: "recentlyAdded", date: "byDate", favourites: "favourites",
      search: "search", deleted: "recentlyDeleted", duplicates: "duplicates", places: "places", place: "places",
    });
    const path = route.view === "album" ? this.library.path(route.album) : [];
    const parents = path.slice(0, -1);
    const parent = parents.at(-1);
    this.#parents = parents.map(({ id }) => id);
    this.#parts.top.show({
      path: parents.map(({ id, name }) => ({ name, go: () => go({ view: "album", album: id }) })),
      title: route.view === "album" ? path.at(-1)?.name ?? ""
        : route.view === "place" ? route.name : t(texts[route.view]),
      up: isBelow(route) ? () => go({ view: route.view === "place" ? "places" : "albums" }) : route.view !== "album" ? null
        : () => go(parent ? { view: "album", album: parent.id } : { view: "albums" }),
      main: this.library.readOnly ? null
        : { icon: "upload", label: t("upload"), run: () => this.pickFiles() },
      actions: this.#viewActions(route),
    });
    this.#count();
    this.#selectionChanged();
  }

  #count() {
    const view = this.#photos ?? this.#deleted ?? this.#duplicates ?? this.#places;
    this.#parts.top.count(view ? view.subtitle : describeLibrary(this.library));
  }

  /**
   * @param {Route} route
   * @returns {BarAction[]}
   */
  #viewActions(route) {
    const album = route.view === "album" ? route.album : null;
    const { actions } = this;
    const fixed = this.library.readOnly;
    const hasNoGrid = route.view === "albums" || (isBelow(route) && route.view !== "place");
    const other = language() === "de" ? "en" : "de";
    return [
      { icon: "select", label: t("select"), shown: true, hidden: hasNoGrid,
        run: () => this.selection.begin() },
      { icon: "add", label: t("newAlbum"), shown: true,
        hidden: fixed || (album === null && route.view !== "albums"),
        run: () => void actions.createAlbum(album) },
      { icon: "larger", label: t("larger"), hidden: hasNoGrid, run: () => this.#photos?.grid.resize(1) },
      { icon: "smaller", label: t("smaller"), hidden: hasNoGrid,
        run: () => this.#photos?.grid.resize(-1) },
      { icon: "sort", label: t("sortBy"), hidden: album === null, run: () => this.#chooseOrder(album ?? "") },
      { icon: "upload", label: t("uploadFolder"), hidden: fixed || matchMedia("(pointer: coarse)").matches,
        run: () => this.pickFiles(true) },
      { icon: "phone", label: t("receive"), hidden: fixed || album === null,
        run: () => void actions.receive(album ?? "") },
      { icon: "link", label: t("importAddresses"), hidden: fixed || album === null || !this.library.imports,
        run: () => void actions.importAddresses(album ?? "") },
      { icon: "edit", label: t("renameAlbum"), hidden: fixed || album === null,
        run: () => void actions.renameAlbum(album ?? "") },
      { icon: "move", label: t("moveAlbum"), hidden: fixed || album === null,
        run: () => void actions.moveAlbum(album ?? "") },
      { icon: "download", label: t("downloadAlbum"), hidden: album === null,
        run: () => void actions.downloadAlbum(album ?? "") },
      { icon: "cover", label: t("resetCover"), hidden: fixed || album === null,
        run: () => void actions.resetCover(album ?? "") },
      { icon: "remove", label: t("deleteAlbum"), danger: true, hidden: fixed || album === null,
        run: () => void actions.deleteAlbum(album ?? "") },
      { icon: "place", label: t("places"), hidden: route.view !== "albums", run: () => go({ view: "places" }) },
      { icon: "duplicates", label: t("duplicates"), hidden: route.view !== "albums",
        run: () => go({ view: "duplicates" }) },
      { icon: "remove", label: t("recentlyDeleted"), hidden: route.view !== "albums",
        run: () => go({ view: "deleted" }) },
      { icon: "keys", label: t("keys"), hidden: matchMedia("(pointer: coarse)").matches, run: () => void showKeys() },
      { icon: "language", label: other === "de" ? "Deutsch" : "English",
        run: () => this.#switchLanguage(other) },
    ];
  }

  #selectionChanged() {
    const { selection, library, actions } = this;
    const { selection: bar, top } = this.#parts;
    const wasHidden = bar.element.hidden;
    bar.show(selection.active, selection.size);
    top.element.hidden = selection.active;
    document.documentElement.classList.toggle("with-selection", selection.active);
    if (!wasHidden || !selection.active) return;
    const fixed = library.readOnly;
    const transfer = async (/** @type {"move" | "copy"} */ kind) => {
      if (await actions.transferPhotos(kind, selection.ids)) selection.clear();
    };
    bar.offer([
      { icon: "download", label: t("download"), short: t("downloadShort"),
        run: () => void actions.downloadPhotos(selection.ids) },
      { icon: "move", label: t("move"), short: t("moveShort"), hidden: fixed, run: () => void transfer("move") },
      { icon: "copy", label: t("copy"), hidden: fixed, run: () => void transfer("copy") },
      { icon: "rotate", label: t("rotate"), hidden: fixed, run: () => void this.#rotateSelected() },
      { icon: "star", label: t("favourite"), hidden: fixed, run: () => void this.star(selection.ids) },
      { icon: "remove", label: t("delete"), hidden: fixed, danger: true,
        run: () => void this.#deleteSelected() },
    ]);
  }

  /**
   * Makes photos favourites; where all are, none of them is any more.
   * @param {string[]} ids
   */
  async star(ids) {
    const listing = this.#photos?.listing;
    if (!listing || this.library.readOnly || ids.length === 0) return;
    const places = ids.map((id) => listing.indexOf(id)).filter((index) => index >= 0);
    const on = places.some((index) => listing.favourites[index] === 0);
    const before = places.map((index) => listing.favourites[index]);
    for (const index of places) listing.favourites[index] = on ? 1 : 0;
    this.#drawStars();
    await attempt(async () => {
      try {
        await post("/api/favourites", { ids, on });
      } catch (error) {
        places.forEach((index, at) => (listing.favourites[index] = before[at]));
        this.#drawStars();
        throw error;
      }
    });
  }

  #drawStars() {
    this.#photos?.grid.drawStars();
    this.#viewer?.drawStar();
  }

  #selectAll() {
    this.selection.set(this.#photos?.listing?.ids ?? [], true);
  }

  /** Turns all photos of the selection; what cannot be turned is named at the end. */
  async #rotateSelected() {
    const { ids } = this.selection;
    this.selection.clear();
    await this.actions.rotateAll(ids);
    await this.#refresh();
  }

  async #deleteSelected() {
    const { ids } = this.selection;
    if (ids.length === 0 || this.library.readOnly) return;
    this.selection.clear();
    await this.actions.deletePhotos(ids);
    await this.#refresh();
  }

  /** Loads again what is shown, after this page changed it. */
  async #refresh() {
    await this.library.refresh().catch(() => {});
    await this.#photos?.load();
    await this.#duplicates?.load();
  }

  /** @param {import("./library.js").Changes} changes */
  #changed(changes) {
    const { route } = here();
    if (route.view === "album" && !this.library.album(route.album)) {
      const album = [...this.#parents].reverse().find((id) => this.library.album(id));
      replace(album === undefined ? { view: "albums" } : { view: "album", album });
      return;
    }
    this.#drawAlbums();
    this.#photos?.changed(changes);
    if (changes.albums) void this.#deleted?.load();
    if (changes.albums) void this.#duplicates?.load();
    void this.#places?.load();
    this.thumbnails.askAgain();
    if (changes.albums) this.#describe();
  }

  #openViewer() {
    const listing = this.#photos?.listing;
    if (!listing || listing.loaded === 0) return;
    this.#viewer = new Viewer(listing, Math.min(this.#viewerIndex, listing.loaded - 1), {
      thumbnails: this.thumbnails,
      library: this.library,
      actions: {
        close: back,
        download: (photo) => void this.actions.downloadPhotos([photo.id]),
        remove: (photo) => void this.actions.deletePhotos([photo.id]).then(() => this.#refresh()),
        downloadFile: (file) => void this.actions.downloadFile(file.id),
        removeFile: (file) => void this.actions.deleteFile(file.id).then(() => this.#refresh()),
        makeCover: (photo) => this.actions.makeCover(photo),
        rotate: (photo) => this.#rotate(photo),
        star: (photo) => void this.star([photo.id]),
        dated: () => void this.#photos?.load(),
        rename: async (photo) => {
          if (await this.actions.renamePhoto(photo)) await this.#photos?.load();
        },
        goToAlbum: (album) => go({ view: "album", album }),
      },
    });
    this.#shell.inert = true;
    document.documentElement.classList.add("viewing");
    this.#host.insertBefore(this.#viewer.element, toastHost);
    this.#viewer.begin();
  }

  #closeViewer() {
    const viewer = this.#viewer;
    if (!viewer) return;
    this.#viewerIndex = viewer.index;
    this.#viewer = null;
    viewer.remove();
    this.#shell.inert = false;
    document.documentElement.classList.remove("viewing");
    this.#photos?.grid.focus(this.#viewerIndex);
  }

  /** @param {Photo} photo */
  async #rotate(photo) {
    await attempt(async () => {
      const listing = this.#photos?.listing;
      const now = await this.actions.rotate(photo);
      const index = listing?.indexOf(photo.id) ?? -1;
      if (!listing || index < 0) return;
      listing.setSize(index, now.width, now.height);
      // Until the new thumbnail is there, the number that it had must not lead to the old preview.
      listing.thumbs[index] = now.thumb ?? listing.thumbs[index] + 0.001;
      this.#viewer?.redraw();
    });
  }

  async #chooseUploadAlbum() {
    const album = await pickAlbum(this.library, this.thumbnails, {
      title: t("chooseAlbum"), action: t("choose"),
    });
    if (album === null) return;
    this.uploads.album = album;
    this.#parts.panel.update();
  }

  /**
   * Asks for files to upload.
   * @param {boolean} [folder]
   */
  pickFiles(folder = false) {
    const input = h("input", {
      type: "file", multiple: true, hidden: true, webkitdirectory: folder, class: "file-input",
      accept: folder ? null : pickable,
    });
    const done = () => input.remove();
    input.addEventListener("change", () => {
      this.#takeFiles(pickedFiles(input.files ?? []));
      done();
    });
    input.addEventListener("cancel", done);
    document.body.append(input);
    input.click();
  }

  /** @param {import("./upload-queue.js").UploadFile[]} files */
  #takeFiles(files) {
    if (files.length === 0 || this.library.readOnly) return;
    const { route } = here();
    if (this.uploads.isOver) this.uploads.clear();
    if (this.uploads.counts.ready === 0) this.uploads.album = route.view === "album" ? route.album : null;
    this.#parts.panel.fold(false);
    this.uploads.add(files);
  }

  #key = (/** @type {KeyboardEvent} */ event) => {
    const inField = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement;
    if (inField || document.querySelector("dialog[open]") || this.#viewer || event.defaultPrevented) return;
    const control = event.ctrlKey || event.metaKey;
    if (event.key === "Escape" && this.selection.active) this.selection.clear();
    else if (event.key === "a" && control && this.#photos) this.#selectAll();
    else if (event.key === "Delete" && this.selection.size > 0) void this.#deleteSelected();
    else if (event.key === "f" && !control && this.#photos) this.#starByKey();
    else if (event.key === "/" && !control) this.#goToSearch();
    else if (event.key === "?") void showKeys();
    else if (event.key === "+" && !control && this.#photos) this.#photos.grid.resize(1);
    else if (event.key === "-" && !control && this.#photos) this.#photos.grid.resize(-1);
    else return;
    event.preventDefault();
  };

  /** Marks what is selected, or the photo with the focus. */
  #starByKey() {
    const { grid } = this.#photos ?? {};
    const focused = grid?.element.contains(document.activeElement) ? grid.currentId : undefined;
    void this.star(this.selection.size > 0 ? this.selection.ids : focused === undefined ? [] : [focused]);
  }

  #goToSearch() {
    if (here().route.view === "search") this.#search?.focus();
    else go({ view: "search", text: "" });
  }

  #askToStay = (/** @type {BeforeUnloadEvent} */ event) => {
    if (this.uploads.isRunning) event.preventDefault();
  };
}

/**
 * True of a view of all albums that the view of the albums leads to.
 * @param {Route} route
 */
const isBelow = (route) => ["deleted", "duplicates", "places", "place"].includes(route.view);

/**
 * Returns which photos a view shows that is no album.
 * @param {Exclude<Route, {view: "albums" | "deleted" | "duplicates" | "places"} | {view: "album"}>} route
 * @returns {import("./listing.js").Query}
 */
function queryOf(route) {
  switch (route.view) {
    case "search": return { search: route.text };
    case "place": return { place: route.place };
    case "favourites": return { search: favourites };
    default: return { view: route.view };
  }
}

/**
 * @param {Route} one
 * @param {Route} other
 */
function sameRoute(one, other) {
  return one.view === other.view && (one.view !== "album" || one.album === /** @type {any} */ (other).album);
}
