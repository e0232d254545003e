/// Files and folders that systems and programs make among photos for their own use. No person put them there,
/// and no other program misses them.
///
/// `import` leaves them out, and a folder of such a name becomes no album. Small and capital letters are the
/// same.
package enum Leftover {
  private static let folders = set([
    // Synology and QNAP: thumbnails, removed files, snapshots.
    "@eaDir", "#recycle", "#snapshot", "@Recycle", "@Recently-Snapshot", ".@__thumb",
    // Windows: removed files, restore points.
    "$RECYCLE.BIN", "System Volume Information",
    // macOS: resource forks in zip files, removed files, indexes.
    "__MACOSX", ".Trashes", ".Spotlight-V100", ".fseventsd", ".TemporaryItems",
    ".DocumentRevisions-V100", ".AppleDouble",
    // Linux and Android: what a check of a disk found, thumbnails, removed files.
    "lost+found", ".thumbnails", ".dtrash",
  ])

  private static let files = set([
    "Thumbs.db", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini", ".DS_Store", ".localized",
    "Icon\r", ".VolumeIcon.icns", ".nomedia", ".directory", "SYNOINDEX_MEDIA_INFO",
    // Google Takeout: what is about the account, and not about a photo.
    "archive_browser.html", "print-subscriptions.json", "shared_album_comments.json",
    "user-generated-memory-titles.json",
  ])

  /// `.Trash-1000`, the trash of a user of Linux.
  private static let userTrash = Array(".trash-".utf8)

  package static func isFolder(_ name: [UInt8]) -> Bool {
    let small = lowercased(name)
    return folders.contains(small) || small.starts(with: userTrash)
  }

  package static func isFile(_ name: [UInt8]) -> Bool { files.contains(lowercased(name)) }

  private static func set(_ names: [String]) -> Set<[UInt8]> {
    Set(names.map { lowercased(Array($0.utf8)) })
  }

  private static func lowercased(_ name: [UInt8]) -> [UInt8] {
    name.map { 65...90 ~= $0 ? $0 | 0x20 : $0 }
  }
}
