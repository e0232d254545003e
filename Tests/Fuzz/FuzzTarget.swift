/// One parser, and what it promises for any bytes whatever: to answer or to throw, in bounded time
/// and memory, and what its `run` checks besides.
protocol FuzzTarget: SendableMetatype {
  /// Valid inputs, made by the code itself, to begin with.
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
  "EmbeddedPreview": EmbeddedPreviewTarget.self,
]

/// A promise that does not hold is a finding.
func require(_ condition: Bool, _ promise: String) {
  if !condition { fatalError("broken promise: \(promise)") }
}
