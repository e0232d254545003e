import AlbumTestSupport
import Foundation

/// A store with two spaces for the gallery's tests, and programs in Python that act as browsers.
enum GalleryStore {
  static let password = "correct horse"
  static let second = "battery staple"

  /// Two spaces, the first with the albums `Trip`, `Trip/Day` and `Empty`.
  private static let content = MountedStore.Content("gallery") { mounted in
    try prepare(mounted)
    try mounted.sh("albumfs space add -q --password-file $W/../password-second $S")
    try mounted.mount()
    try mounted.sh(
      """
      mkdir $M/Trip $M/Trip/Day $M/Empty
      for i in 1 2 10; do cp $W/picture.jpg $M/Trip/Photo/IMG_$i.jpg; done
      cp $W/picture.jpg $M/Trip/direct.jpg; cp $W/picture.jpg $M/Trip/Day/Photo/day.jpg
      echo text > $M/Trip/Photo/notes.txt; seq 100000 > $M/Trip/Photo/film.mp4
      """)
    try mounted.sync()
    try mounted.unmount()
  }

  /// Writes the second password and a picture beside the store.
  private static func prepare(_ mounted: MountedStore) throws {
    try mounted.setPassword(second, "password-second")
    try mounted.write(Data(try TestPictures.jpeg(orientation: 1)), "picture.jpg")
  }

  /// Passes a store with this content to the body.
  static func use(
    initOptions: [String] = [], storeIn folder: String? = nil, _ body: (MountedStore) throws -> Void
  ) throws {
    let mounted = try MountedStore(initOptions: initOptions, storeIn: folder, content: content)
    defer { mounted.abandon() }
    try prepare(mounted)
    try body(mounted)
  }

  /// Runs a program that has everything of gallery.py, the passwords, and a directory for the runtime.
  static func python(_ mounted: MountedStore, _ program: String) throws {
    let support = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path
    try mounted.python(
      """
      sys.path.insert(0, \"\(support)\")
      os.environ["XDG_RUNTIME_DIR"] = W + "/runtime"
      os.makedirs(W + "/runtime", mode=0o700, exist_ok=True)
      import gallery
      from gallery import *
      # Programs are no pages, and do not say that they are open.
      gallery.DELAYS.append("page=600")
      PASSWORD, SECOND = \"\(password)\", \"\(second)\"
      \(program)
      """)
  }
}
