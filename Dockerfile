# One static binary, run as nobody. Build: docker build -t shunt .
# Run:   docker run -p 127.0.0.1:3001:3001 -v shunt:/data -v ./shunt.toml:/etc/shunt/shunt.toml:ro shunt
# In the container, bind to 0.0.0.0:3001 and set [server.auth]. Publish the port on loopback unless other machines may use it.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /shunt ./cmd/shunt && mkdir -m 700 /data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /shunt /shunt
COPY --from=build --chown=65534:65534 /data /data
USER 65534:65534
ENV HOME=/data
VOLUME /data
EXPOSE 3001
HEALTHCHECK --interval=30s --timeout=3s CMD ["/shunt", "status", "--health"]
ENTRYPOINT ["/shunt"]
CMD ["run"]
