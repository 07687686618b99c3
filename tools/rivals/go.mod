module m0serve.dev/tools/rivals

go 1.26.0

require (
	github.com/CAFxX/httpcompression v0.0.9
	github.com/OneOfOne/xxhash v1.2.8
	github.com/buger/jsonparser v1.6.1
	github.com/bytedance/sonic v1.15.5
	github.com/chenyahui/gin-cache v1.10.0
	github.com/dunglas/mercure v0.20.0
	github.com/elnormous/contenttype v1.0.4
	github.com/gin-gonic/gin v1.12.0
	github.com/go-chi/chi/v5 v5.5.0
	github.com/gofiber/fiber/v3 v3.1.0
	github.com/julienschmidt/httprouter v1.3.0
	github.com/klauspost/compress v1.20.4
	github.com/lxzan/gws v1.8.9
	github.com/minio/simdjson-go v0.4.5
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822
	github.com/panjf2000/gnet/v2 v2.9.7
	github.com/r3labs/sse/v2 v2.10.0
	github.com/rs/cors v1.11.1
	github.com/segmentio/encoding v0.5.4
	github.com/starfederation/datastar-go v1.2.2
	github.com/tmaxmax/go-sse v0.12.0
	github.com/valyala/fasthttp v1.78.0
	github.com/valyala/fastjson v1.6.10
	go.uber.org/zap v1.27.0
	m0serve.dev/datastar v0.1.0
	m0serve.dev/http v0.1.0
	m0serve.dev/sqlite v0.1.0
	modernc.org/sqlite v1.62.0
	zombiezen.com/go/sqlite v1.4.2
)
