// The files of the gallery's page, as bytes of the program. Swift can embed files too, but compiles each byte
// as an expression: for these files that took 10 s and 700 MB with each build of the gallery.
#include "CGalleryPages.h"

#include <stddef.h>

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char actions_js[] = {
#embed "../../Gallery/Pages/actions.js"
};
static const unsigned char album_picker_js[] = {
#embed "../../Gallery/Pages/album-picker.js"
};
static const unsigned char albums_view_js[] = {
#embed "../../Gallery/Pages/albums-view.js"
};
static const unsigned char api_js[] = {
#embed "../../Gallery/Pages/api.js"
};
static const unsigned char bars_js[] = {
#embed "../../Gallery/Pages/bars.js"
};
static const unsigned char deleted_css[] = {
#embed "../../Gallery/Pages/deleted.css"
};
static const unsigned char deleted_js[] = {
#embed "../../Gallery/Pages/deleted.js"
};
static const unsigned char dialogs_js[] = {
#embed "../../Gallery/Pages/dialogs.js"
};
static const unsigned char dom_js[] = {
#embed "../../Gallery/Pages/dom.js"
};
static const unsigned char downloads_js[] = {
#embed "../../Gallery/Pages/downloads.js"
};
static const unsigned char drop_zone_js[] = {
#embed "../../Gallery/Pages/drop-zone.js"
};
static const unsigned char duplicates_js[] = {
#embed "../../Gallery/Pages/duplicates.js"
};
static const unsigned char gallery_js[] = {
#embed "../../Gallery/Pages/gallery.js"
};
static const unsigned char gestures_js[] = {
#embed "../../Gallery/Pages/gestures.js"
};
static const unsigned char grid_films_js[] = {
#embed "../../Gallery/Pages/grid-films.js"
};
static const unsigned char grid_pointer_js[] = {
#embed "../../Gallery/Pages/grid-pointer.js"
};
static const unsigned char grid_js[] = {
#embed "../../Gallery/Pages/grid.js"
};
static const unsigned char group_signs_js[] = {
#embed "../../Gallery/Pages/group-signs.js"
};
static const unsigned char history_js[] = {
#embed "../../Gallery/Pages/history.js"
};
static const unsigned char icons_js[] = {
#embed "../../Gallery/Pages/icons.js"
};
static const unsigned char index_html[] = {
#embed "../../Gallery/Pages/index.html"
};
static const unsigned char jobs_js[] = {
#embed "../../Gallery/Pages/jobs.js"
};
static const unsigned char kept_uploads_js[] = {
#embed "../../Gallery/Pages/kept-uploads.js"
};
static const unsigned char keys_dialog_js[] = {
#embed "../../Gallery/Pages/keys-dialog.js"
};
static const unsigned char layout_js[] = {
#embed "../../Gallery/Pages/layout.js"
};
static const unsigned char library_js[] = {
#embed "../../Gallery/Pages/library.js"
};
static const unsigned char listing_js[] = {
#embed "../../Gallery/Pages/listing.js"
};
static const unsigned char login_js[] = {
#embed "../../Gallery/Pages/login.js"
};
static const unsigned char looking_css[] = {
#embed "../../Gallery/Pages/looking.css"
};
static const unsigned char lru_js[] = {
#embed "../../Gallery/Pages/lru.js"
};
static const unsigned char main_js[] = {
#embed "../../Gallery/Pages/main.js"
};
static const unsigned char names_js[] = {
#embed "../../Gallery/Pages/names.js"
};
static const unsigned char page_css[] = {
#embed "../../Gallery/Pages/page.css"
};
static const unsigned char photos_view_js[] = {
#embed "../../Gallery/Pages/photos-view.js"
};
static const unsigned char photos_css[] = {
#embed "../../Gallery/Pages/photos.css"
};
static const unsigned char pictures_js[] = {
#embed "../../Gallery/Pages/pictures.js"
};
static const unsigned char places_view_js[] = {
#embed "../../Gallery/Pages/places-view.js"
};
static const unsigned char reception_js[] = {
#embed "../../Gallery/Pages/reception.js"
};
static const unsigned char retry_js[] = {
#embed "../../Gallery/Pages/retry.js"
};
static const unsigned char scrubber_js[] = {
#embed "../../Gallery/Pages/scrubber.js"
};
static const unsigned char search_view_js[] = {
#embed "../../Gallery/Pages/search-view.js"
};
static const unsigned char search_css[] = {
#embed "../../Gallery/Pages/search.css"
};
static const unsigned char selection_js[] = {
#embed "../../Gallery/Pages/selection.js"
};
static const unsigned char session_js[] = {
#embed "../../Gallery/Pages/session.js"
};
static const unsigned char slide_js[] = {
#embed "../../Gallery/Pages/slide.js"
};
static const unsigned char slideshow_js[] = {
#embed "../../Gallery/Pages/slideshow.js"
};
static const unsigned char texts_js[] = {
#embed "../../Gallery/Pages/texts.js"
};
static const unsigned char thumbnails_js[] = {
#embed "../../Gallery/Pages/thumbnails.js"
};
static const unsigned char toasts_js[] = {
#embed "../../Gallery/Pages/toasts.js"
};
static const unsigned char upload_files_js[] = {
#embed "../../Gallery/Pages/upload-files.js"
};
static const unsigned char upload_kind_js[] = {
#embed "../../Gallery/Pages/upload-kind.js"
};
static const unsigned char upload_panel_js[] = {
#embed "../../Gallery/Pages/upload-panel.js"
};
static const unsigned char upload_preview_js[] = {
#embed "../../Gallery/Pages/upload-preview.js"
};
static const unsigned char upload_queue_js[] = {
#embed "../../Gallery/Pages/upload-queue.js"
};
static const unsigned char upload_transport_js[] = {
#embed "../../Gallery/Pages/upload-transport.js"
};
static const unsigned char upload_css[] = {
#embed "../../Gallery/Pages/upload.css"
};
static const unsigned char viewer_info_js[] = {
#embed "../../Gallery/Pages/viewer-info.js"
};
static const unsigned char viewer_notes_js[] = {
#embed "../../Gallery/Pages/viewer-notes.js"
};
static const unsigned char viewer_css[] = {
#embed "../../Gallery/Pages/viewer.css"
};
static const unsigned char viewer_js[] = {
#embed "../../Gallery/Pages/viewer.js"
};
static const unsigned char virtual_list_js[] = {
#embed "../../Gallery/Pages/virtual-list.js"
};
static const unsigned char zoom_js[] = {
#embed "../../Gallery/Pages/zoom.js"
};

static const struct {
  const char *name;
  const unsigned char *bytes;
  size_t size;
} pages[] = {
    {"actions.js", actions_js, sizeof actions_js},
    {"album-picker.js", album_picker_js, sizeof album_picker_js},
    {"albums-view.js", albums_view_js, sizeof albums_view_js},
    {"api.js", api_js, sizeof api_js},
    {"bars.js", bars_js, sizeof bars_js},
    {"deleted.css", deleted_css, sizeof deleted_css},
    {"deleted.js", deleted_js, sizeof deleted_js},
    {"dialogs.js", dialogs_js, sizeof dialogs_js},
    {"dom.js", dom_js, sizeof dom_js},
    {"downloads.js", downloads_js, sizeof downloads_js},
    {"drop-zone.js", drop_zone_js, sizeof drop_zone_js},
    {"duplicates.js", duplicates_js, sizeof duplicates_js},
    {"gallery.js", gallery_js, sizeof gallery_js},
    {"gestures.js", gestures_js, sizeof gestures_js},
    {"grid-films.js", grid_films_js, sizeof grid_films_js},
    {"grid-pointer.js", grid_pointer_js, sizeof grid_pointer_js},
    {"grid.js", grid_js, sizeof grid_js},
    {"group-signs.js", group_signs_js, sizeof group_signs_js},
    {"history.js", history_js, sizeof history_js},
    {"icons.js", icons_js, sizeof icons_js},
    {"index.html", index_html, sizeof index_html},
    {"jobs.js", jobs_js, sizeof jobs_js},
    {"kept-uploads.js", kept_uploads_js, sizeof kept_uploads_js},
    {"keys-dialog.js", keys_dialog_js, sizeof keys_dialog_js},
    {"layout.js", layout_js, sizeof layout_js},
    {"library.js", library_js, sizeof library_js},
    {"listing.js", listing_js, sizeof listing_js},
    {"login.js", login_js, sizeof login_js},
    {"looking.css", looking_css, sizeof looking_css},
    {"lru.js", lru_js, sizeof lru_js},
    {"main.js", main_js, sizeof main_js},
    {"names.js", names_js, sizeof names_js},
    {"page.css", page_css, sizeof page_css},
    {"photos-view.js", photos_view_js, sizeof photos_view_js},
    {"photos.css", photos_css, sizeof photos_css},
    {"pictures.js", pictures_js, sizeof pictures_js},
    {"places-view.js", places_view_js, sizeof places_view_js},
    {"reception.js", reception_js, sizeof reception_js},
    {"retry.js", retry_js, sizeof retry_js},
    {"scrubber.js", scrubber_js, sizeof scrubber_js},
    {"search-view.js", search_view_js, sizeof search_view_js},
    {"search.css", search_css, sizeof search_css},
    {"selection.js", selection_js, sizeof selection_js},
    {"session.js", session_js, sizeof session_js},
    {"slide.js", slide_js, sizeof slide_js},
    {"slideshow.js", slideshow_js, sizeof slideshow_js},
    {"texts.js", texts_js, sizeof texts_js},
    {"thumbnails.js", thumbnails_js, sizeof thumbnails_js},
    {"toasts.js", toasts_js, sizeof toasts_js},
    {"upload-files.js", upload_files_js, sizeof upload_files_js},
    {"upload-kind.js", upload_kind_js, sizeof upload_kind_js},
    {"upload-panel.js", upload_panel_js, sizeof upload_panel_js},
    {"upload-preview.js", upload_preview_js, sizeof upload_preview_js},
    {"upload-queue.js", upload_queue_js, sizeof upload_queue_js},
    {"upload-transport.js", upload_transport_js, sizeof upload_transport_js},
    {"upload.css", upload_css, sizeof upload_css},
    {"viewer-info.js", viewer_info_js, sizeof viewer_info_js},
    {"viewer-notes.js", viewer_notes_js, sizeof viewer_notes_js},
    {"viewer.css", viewer_css, sizeof viewer_css},
    {"viewer.js", viewer_js, sizeof viewer_js},
    {"virtual-list.js", virtual_list_js, sizeof virtual_list_js},
    {"zoom.js", zoom_js, sizeof zoom_js},
};

int gallery_page_count(void) { return sizeof pages / sizeof *pages; }
const char *gallery_page_name(int number) { return pages[number].name; }
const unsigned char *gallery_page_bytes(int number) { return pages[number].bytes; }
unsigned long gallery_page_size(int number) { return pages[number].size; }
