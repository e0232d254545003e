/// Files that gvfsd-metadata 1.50.3 wrote, in base 64.
package enum GvfsSamples {
  /// Data about `/home/ann/Album`, `/home/ann/Album/Trip/Photo/a b.jpg` and `/home/ann/Album2/b.jpg`.
  package static let tree =
    "2hptZXRhAQAAAAAArzfDgQAAAEwAAAAgAAAAAGsEbh0AAAACAAAALAAAAD1tZXRhZGF0YTo6cmF0aW5nAG1ldGFk"
    + "YXRhOjpzb3J0AAAAAFwAAABgAAABQAAAAAAvAAAAAAAAAQAAAHQAAAB8AAABRAAAAABob21lAAAAAAAAAAEAAACQ"
    + "AAAAlAAAAUgAAAAAYW5uAAAAAAIAAAC4AAAAyAAAAUwAAAABAAAAvgAAAOQAAAFYAAAAAEFsYnVtAEFsYnVtMgAA"
    + "AAAAAAABAAAA3AAAAQAAAAFsAAAAAFRyaXAAAAAAAAAAAQAAAPgAAAEcAAABcAAAAAFiLmpwZwAAAAAAAAEAAAEU"
    + "AAABIAAAAYQAAAAAUGhvdG8AAAAAAAAAAAAAAQAAATQAAAE8AAABiAAAAAFhIGIuanBnAAAAAAAAAAAAAAAAAAAA"
    + "AAAAAAABgAAAAQAAAVwAAAAAAAAAAgAAAWoAAAFoYgBhAAAAAAAAAAABAAAAAAAAAXxmaXZlAAAAAAAAAAAAAAAB"
    + "AAAAAAAAAZRmaXZlAAAAAA=="

  /// An empty tree.
  package static let emptyTree =
    "2hptZXRhAQAAAAAAyDgU2gAAACQAAAAgAAAAAAAAAAAAAAAAAAAANAAAADgAAAA8AAAAAC8AAAAAAAAAAAAAAA=="

  /// The journal of the empty tree, without the zeros at its end: data about `/home/ann/Album/c.jpg` and
  /// `/home/ann/Pictures/d.jpg`, `/home/ann/Album/e.jpg` moved to `/home/ann/Pictures/f.jpg`, and the
  /// removal of the first.
  package static let journal =
    "2hpqb3VyAQDIOBTaAACAAAAAAAUAAABEHxyOHQAAAABrBG4fAC9ob21lL2Fubi9BbGJ1bS9jLmpwZwBtZXRhZGF0"
    + "YTo6cmF0aW5nAGZpdmUAAAAAAAAARAAAAERWeXo6AAAAAGsEbh8AL2hvbWUvYW5uL1BpY3R1cmVzL2QuanBnAG1l"
    + "dGFkYXRhOjpyYXRpbmcAZml2ZQAAAABEAAAARDtgZJcAAAAAawRuHwMvaG9tZS9hbm4vUGljdHVyZXMvZi5qcGcA"
    + "L2hvbWUvYW5uL0FsYnVtL2UuanBnAAAAAEQAAAAsxRXfxgAAAABrBG4fBC9ob21lL2Fubi9BbGJ1bS9lLmpwZwAA"
    + "AAAALAAAACwtoBWFAAAAAGsEbh8EL2hvbWUvYW5uL0FsYnVtL2MuanBnAAAAAAAsAAAAAA=="
}
