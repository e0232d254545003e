package import Posix

/// Something that another program keeps about a path under a mount point.
package struct Trace: Sendable, Equatable {
  package enum Kind: String, Sendable, CaseIterable {
    /// A small picture of a photo, or a note that none could be made.
    case thumbnail
    /// An entry in a list of recently used files.
    case recentFile
    /// A note of a file manager or viewer about a file: a rating, a sort order, the place of an icon.
    case metadata
    /// An entry in a viewer's own history.
    case history
    /// A program's setting, such as the file that it showed last.
    case setting
    /// A program's database that names photos.
    case database
    /// A whole picture in a directory for temporary files.
    case temporaryPicture
    /// A whole file or directory in the trash of the home directory.
    case trashedFile
  }

  package enum State: Sendable, Hashable {
    /// It was found and can be removed, but that was not requested.
    case found
    case removed
    /// Its program removes it soon: gvfs writes its files anew within a minute.
    case leaving
    case stays(Reason)
  }

  /// Why a trace cannot be removed.
  package enum Reason: Sendable, Hashable {
    case error(Errno)
    /// Only gvfs' own daemon may change its files, and there is no way to reach it.
    case needsDaemon
    /// The daemon refused.
    case refused(String)
    /// A journal that gvfs does not use any more.
    case abandoned
    /// A program or a desktop's daemon holds the settings in memory and would write them back.
    case setting
    /// Only the program whose database it is knows what belongs to which photo.
    case database
    /// Nothing in the file says where it comes from.
    case unproven
    /// It may be the only copy of a photo.
    case trash
  }

  package var kind: Kind
  /// The file that holds it.
  package var file: String
  /// The path under the mount point that it is about; empty for the mount point itself. nil if unknown.
  package var path: [UInt8]?
  package var state: State

  package init(kind: Kind, file: String, path: [UInt8]?, state: State) {
    self.kind = kind
    self.file = file
    self.path = path
    self.state = state
  }
}

/// A file or directory that may hold traces and that albumfs did not look into.
package struct UnseenFile: Sendable, Equatable {
  package enum Reason: Sendable, Equatable {
    case error(Errno)
    case anotherUsers
    case tooLarge
    case notUnderstood
  }

  package var file: String
  package var reason: Reason

  package init(file: String, reason: Reason) {
    self.file = file
    self.reason = reason
  }
}

/// How much a search may read.
package struct TraceLimits: Sendable, Equatable {
  /// Files and directories that it opens.
  package var files: Int
  package var deadline: MonotonicTime?

  package init(files: Int, deadline: MonotonicTime?) {
    self.files = files
    self.deadline = deadline
  }

  /// For a command whose only work this is.
  package static let thorough = TraceLimits(files: 2_000_000, deadline: nil)

  /// For a command that does something else: returns within about a second.
  package static func quick() -> TraceLimits {
    TraceLimits(files: 20_000, deadline: .now + .seconds(1))
  }
}
