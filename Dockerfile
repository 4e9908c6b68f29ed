# A static binary, alone in its image: no shell, no package manager, no root.
#
#   docker build -t keyloom .
#   docker run -p 8080:8080 -v keyloom:/data -v ./model.toml:/model.toml:ro \
#       -e KEYLOOM_ADMIN_TOKEN keyloom serve /model.toml

FROM rust:1.95-alpine AS build
RUN apk add --no-cache ca-certificates gcc musl-dev
WORKDIR /source
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/source/target \
    cargo build --release --locked -p keyloom-cli && \
    cp target/release/keyloom /keyloom && \
    mkdir -p /empty/data

FROM scratch
# Certificates of DynamoDB and of receivers of webhooks are checked against these.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /keyloom /usr/local/bin/keyloom
# A volume that is mounted here takes over the owner.
COPY --from=build --chown=65532:65532 /empty/data /data
USER 65532:65532
VOLUME /data
# Inside a container, loopback reaches nobody. Without a token the server refuses to start like this.
ENV KEYLOOM_DATA=/data KEYLOOM_LISTEN=0.0.0.0:8080 SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
EXPOSE 8080
STOPSIGNAL SIGTERM
# Whether it is up, not whether it can write (`--ready`): orchestrators replace what is unhealthy, which
# does not help with a full disk.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["/usr/local/bin/keyloom", "health", "http://127.0.0.1:8080"]
ENTRYPOINT ["/usr/local/bin/keyloom"]
CMD ["--help"]
