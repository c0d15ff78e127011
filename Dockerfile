FROM python:3.11-slim-bookworm

# PostgreSQL refuses to run as root, and nothing here needs it.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /var/lib/copydesk --shell /usr/sbin/nologin copydesk \
    && install -d -o copydesk -g copydesk -m 0700 /var/lib/copydesk

WORKDIR /app

COPY requirements.txt .
RUN pip install --no-cache-dir --disable-pip-version-check --compile --require-hashes -r requirements.txt

COPY manifest.yml .
COPY knowledge knowledge
COPY agents agents
COPY bot bot
RUN python -m compileall -q knowledge agents bot

ENV COPYDESK_HOME=/var/lib/copydesk \
    PYTHONUNBUFFERED=1 \
    PORT=3000

EXPOSE 3000
# For `serve` and `worker` alike. /readyz, for who sends traffic, would have a database's absence restart the bot.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-c", \
    "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/healthz', timeout=4)"]

# The embedded database. With DATABASE_URL set, nothing of worth is kept here.
VOLUME /var/lib/copydesk

USER copydesk
CMD ["python", "-m", "bot", "serve"]
