// SPDX-License-Identifier: MIT

package static

import "strings"

// unknownType is what a file without a known extension is.
const unknownType = "application/octet-stream"

// builtinTypes are content types by extension. The tables of the machine are not
// asked, so that an answer does not depend on it. Read only.
var builtinTypes = map[string]string{
	".aac":         "audio/aac",
	".apng":        "image/apng",
	".atom":        "application/atom+xml; charset=utf-8",
	".avif":        "image/avif",
	".bin":         unknownType,
	".bmp":         "image/bmp",
	".bz2":         "application/x-bzip2",
	".css":         "text/css; charset=utf-8",
	".csv":         "text/csv; charset=utf-8",
	".doc":         "application/msword",
	".docx":        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".eot":         "application/vnd.ms-fontobject",
	".epub":        "application/epub+zip",
	".flac":        "audio/flac",
	".geojson":     "application/geo+json",
	".gif":         "image/gif",
	".glb":         "model/gltf-binary",
	".gltf":        "model/gltf+json",
	".gz":          "application/gzip",
	".htm":         "text/html; charset=utf-8",
	".html":        "text/html; charset=utf-8",
	".ico":         "image/vnd.microsoft.icon",
	".ics":         "text/calendar; charset=utf-8",
	".jpeg":        "image/jpeg",
	".jpg":         "image/jpeg",
	".js":          "text/javascript; charset=utf-8",
	".json":        "application/json",
	".jsonld":      "application/ld+json",
	".jxl":         "image/jxl",
	".m3u8":        "application/vnd.apple.mpegurl",
	".m4a":         "audio/mp4",
	".map":         "application/json",
	".md":          "text/markdown; charset=utf-8",
	".mjs":         "text/javascript; charset=utf-8",
	".mp3":         "audio/mpeg",
	".mp4":         "video/mp4",
	".mpeg":        "video/mpeg",
	".oga":         "audio/ogg",
	".ogg":         "audio/ogg",
	".ogv":         "video/ogg",
	".opus":        "audio/ogg",
	".otf":         "font/otf",
	".pdf":         "application/pdf",
	".png":         "image/png",
	".pptx":        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".rss":         "application/rss+xml; charset=utf-8",
	".rtf":         "application/rtf",
	".svg":         "image/svg+xml; charset=utf-8",
	".tar":         "application/x-tar",
	".tif":         "image/tiff",
	".tiff":        "image/tiff",
	".ts":          "video/mp2t",
	".ttf":         "font/ttf",
	".txt":         "text/plain; charset=utf-8",
	".vtt":         "text/vtt; charset=utf-8",
	".wasm":        "application/wasm",
	".wav":         "audio/wav",
	".webm":        "video/webm",
	".webmanifest": "application/manifest+json",
	".webp":        "image/webp",
	".woff":        "font/woff",
	".woff2":       "font/woff2",
	".xhtml":       "application/xhtml+xml; charset=utf-8",
	".xls":         "application/vnd.ms-excel",
	".xlsx":        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".xml":         "text/xml; charset=utf-8",
	".zip":         "application/zip",
	".zst":         "application/zstd",
}

// typeOf is the content type of a file by its name.
func (f *Files) typeOf(name string) string {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return unknownType
	}
	ext := name[dot:]
	if kind, known := f.types[ext]; known {
		return kind
	}
	if kind, known := f.types[strings.ToLower(ext)]; known {
		return kind
	}
	return unknownType
}
