import FileKinds

/// One parser and its promises for any bytes: it returns or throws, in bounded time and memory, and keeps the
/// promises that its `run` checks.
protocol FuzzTarget: SendableMetatype {
  /// Returns valid inputs to begin with, made by the code itself.
  static func seeds() -> [[UInt8]]
  static func run(_ bytes: [UInt8])
}

let allTargets: [String: any FuzzTarget.Type] = [
  "Configuration": ConfigurationTarget.self,
  "ConfigurationFiles": ConfigurationFilesTarget.self,
  "KeySlots": KeySlotsTarget.self,
  "SlotContent": SlotContentTarget.self,
  "SealedRecords": SealedRecordsTarget.self,
  "DataRecord": DataRecordTarget.self,
  "JournalHead": JournalHeadTarget.self,
  "JournalFrame": JournalFrameTarget.self,
  "JournalItems": JournalItemsTarget.self,
  "JournalSegment": JournalSegmentTarget.self,
  "Recovery": RecoveryTarget.self,
  "CheckpointRecord": CheckpointRecordTarget.self,
  "CheckpointSegment": CheckpointSegmentTarget.self,
  "ThumbnailRequest": ThumbnailRequestTarget.self,
  "ThumbnailReply": ThumbnailReplyTarget.self,
  "ThumbnailInspection": ThumbnailInspectionTarget.self,
  "ImageKind": ImageKindTarget.self,
  "PasswordText": PasswordTextTarget.self,
  "RecoveryKey": RecoveryKeyTarget.self,
  "ControlMessage": ControlMessageTarget.self,
  "MountTable": MountTableTarget.self,
  "RecentFiles": RecentFilesTarget.self,
  "ThumbnailText": ThumbnailTextTarget.self,
  "GvfsMetadata": GvfsMetadataTarget.self,
  "SettingsFile": SettingsFileTarget.self,
  "CaptureDate": CaptureDateTarget.self,
  "XMPNotes": XMPNotesTarget.self,
  "GoogleJSON": GoogleJSONTarget.self,
  "FileNames": FileNamesTarget.self,
  "EmbeddedPreview": EmbeddedPreviewTarget.self,
  "StrippedPicture": StrippedPictureTarget.self,
  "AccessControl": AccessControlTarget.self,
  "SecurityKeyMessages": SecurityKeyMessagesTarget.self,
  "UserConfiguration": UserConfigurationTarget.self,
  "FetchReply": FetchReplyTarget.self,
  "RemoteMessages": RemoteMessagesTarget.self,
  "S3Response": S3ResponseTarget.self,
  "Search": SearchTarget.self,
  "ZipDirectory": ZipDirectoryTarget.self,
  "ZipMembers": ZipMembersTarget.self,
  "PlainPicture": PlainPictureTarget.self,
  "VideoPoster": VideoPosterTarget.self,
  "SealedPicture": SealedPictureTarget.self,
  "SealedVideo": SealedVideoTarget.self,
]

/// Reports a finding if a promise does not hold.
func require(_ condition: Bool, _ promise: String) {
  if !condition { fatalError("broken promise: \(promise)") }
}
