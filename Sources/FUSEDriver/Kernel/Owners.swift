internal import AlbumFileSystem
internal import AlbumModel
internal import Glibc

/// Translates owners and groups between the kernel and the space. The space keeps stored ids; the mount may
/// show others, because the user who mounts a store need not be the user who filled it. The kernel checks
/// permissions by what the mount shows.
struct Owners: Equatable, Sendable {
  /// Whom the mount shows as the owner of everything; nil: the stored owner.
  var user: UInt32?
  /// The group that it shows; nil: the stored group.
  var group: UInt32?
  /// Groups that show as they are stored, although `group` is set.
  var ownGroups: Set<UInt32> = []

  /// Shows stored ids.
  static let stored = Owners()

  func shown(_ attributes: Attributes) -> Attributes {
    var shown = attributes
    shown.owner = user ?? attributes.owner
    shown.group = shownGroup(attributes.group)
    return shown
  }

  private func shownGroup(_ stored: UInt32) -> UInt32 {
    guard let group else { return stored }
    return ownGroups.contains(stored) ? stored : group
  }

  /// The ids that the space stores for a new inode of this caller: those that the mount shows for it.
  func stored(user caller: UInt32, group callersGroup: UInt32) -> (user: UInt32, group: UInt32) {
    (user ?? caller, shownGroup(callersGroup))
  }

  /// Turns a change of owner or group into what the space stores. To set what the mount shows already
  /// succeeds and stores nothing. Throws `.notPermitted` for ids that the mount cannot show. `group` is
  /// called at most once, for the stored group.
  func stored(_ change: AttributeChange, group current: () throws(FSError) -> UInt32)
    throws(FSError) -> AttributeChange
  {
    var stored = change
    if let user, let owner = change.owner {
      if owner != user { throw FSError(.notPermitted) }
      stored.owner = nil
    }
    if let group, let wanted = change.group {
      if wanted != group && !ownGroups.contains(wanted) { throw FSError(.notPermitted) }
      if try shownGroup(current()) == wanted { stored.group = nil }
    }
    // chown(2) drops set-id bits even if nothing else changes.
    let isChown = change.owner != nil || change.group != nil
    if isChown && change.permissions == nil { stored.killsSetID = true }
    return stored
  }
}

/// Which owners a mount shows.
package enum OwnerChoice: Equatable, Sendable {
  /// The user who mounts owns everything.
  case map
  /// The stored owners.
  case keep
}

extension MountOptions {
  /// `user`, `group` and `groups` are those of the process that mounts. Root keeps stored owners by default:
  /// it may use every file anyway, and its copies can keep owners.
  func owners(user: UInt32, group: UInt32, groups: Set<UInt32>) -> Owners {
    var owners = Owners.stored
    if (owner ?? (allowOther || user == 0 ? .keep : .map)) == .map {
      owners = Owners(user: user, group: group, ownGroups: groups.union([group]))
    }
    if let shownUser { owners.user = shownUser }
    if let shownGroup {
      owners.group = shownGroup
      owners.ownGroups = []
    }
    return owners
  }
}
