/// URIs of files in `/home/ann/Album`, compressed by zlib, in base 64.
package enum TextSamples {
  /// With zlib's fixed code.
  package static let fixed =
    "eAFLy8xJtdLX18/Iz03VT8zL03fMSSrN1Q8pyizQD8jIL8nX9/R1jzcwMDDUyypIBwBuYQ8/"

  /// The same with three bytes destroyed, and so without an end.
  package static let damaged =
    "eAFLy8xJtdLX1////03VT8zL03fMSSrN1Q8pyizQD8jIL8nX9/R1jzcwMDDUyypIBwBuYQ8/"

  /// With a code of its own.
  package static let dynamic =
    "eNolj0sOAkEIRG8ke3fewQvwqQbMzDgxMfH4FrrpAP1eF716w1VE6rlD9Djkttl7l/urT/E2pGpGu2V3wtwKqqbQSA"
    + "DLpkuxYFNAw3ljaOWEYhIEabDh2RLlOjUBIH43LFbRqKCMYElH/t7iIEeNNeA485ShPBwTLoAvkrbCVYtMjMptRplg"
    + "mGkWpF0nB7PAH+WCyv+4FiPJRXNfl8/lceYXwwNqcw=="

  /// The content of `dynamic`, below the mount point.
  package static let long =
    "Trip/cibegaagdicbgiigebcbheaabaeadgeeefbeaabg/bdeeeheeieceadbeiabdeaaggaeaebaeeeaaaeei/dhc"
    + "aeaaaiabeedbaeeebeefheiahdeceedheieae/eaebaefeedgaaaedfeebebeedeeaabehcdcebeaa/eecfbaebfdc"
    + "aahbebdeaebeehdfeeeeeaebbaghe/icafheiecaeacaahbeaagabhecahieaaebdigaec/x.jpg"
}
