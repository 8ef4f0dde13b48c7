# Fleets on Spark: heaproots, PySpark, a Java for it, and what opens s3://.
#
#   docker build -f docker/fleet.Dockerfile -t heaproots/fleet .
#   docker run --rm -v fleet:/fleet heaproots/fleet report /fleet

ARG PYTHON_IMAGE=python:3.12-slim

FROM ${PYTHON_IMAGE}
RUN apt-get update \
 && apt-get install -y --no-install-recommends default-jre-headless procps \
 && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN python3 -m venv /opt/heaproots \
 && /opt/heaproots/bin/python -m pip install --no-cache-dir --disable-pip-version-check \
      '/source[fleet,spark]' s3fs \
 && rm -rf /source
# Executors start Python by this name; kernels are compiled into the image.
ENV PATH=/opt/heaproots/bin:$PATH \
    PYSPARK_PYTHON=/opt/heaproots/bin/python \
    SPARK_NO_DAEMONIZE=1 \
    INGEST_HOME=/var/lib/heaproots \
    NUMBA_CACHE_DIR=/var/lib/heaproots/kernels
RUN useradd --uid 10001 --create-home ingest \
 && mkdir -p /var/lib/heaproots /dumps /fleet /work \
 && ingest example /tmp/example.gclog \
 && ingest info /tmp/example.gclog > /dev/null \
 && rm /tmp/example.gclog \
 && chown -R ingest /var/lib/heaproots /fleet /work
USER ingest
# Executors write their files to the folder that they are started in.
ENV SPARK_WORKER_DIR=/work \
    SPARK_LOCAL_DIRS=/work
WORKDIR /work
ENTRYPOINT ["ingest", "fleet"]
