FROM python:3.12-slim-bookworm AS build
WORKDIR /app
RUN python -m venv /venv
COPY locks/production.txt locks/production.txt
RUN /venv/bin/pip install --no-cache-dir --require-hashes -r locks/production.txt
COPY manage.py ./
COPY boostflow boostflow
COPY workflows workflows
COPY actions actions
COPY pipelines pipelines
COPY triggers triggers
COPY templates templates
COPY locale locale
COPY examples examples
RUN /venv/bin/pybabel compile -d locale -D django \
    && SECRET_KEY=only-for-collecting-static-files-0000000000000000000000000 \
       DATABASE_URL=postgresql://build@localhost/build REDIS_URL=redis://localhost/0 \
       /venv/bin/python manage.py collectstatic --no-input

FROM python:3.12-slim-bookworm
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 ENV=production
RUN useradd --system --no-create-home --uid 10001 boostflow
WORKDIR /app
COPY --from=build /venv /venv
COPY --from=build /app /app
USER boostflow
EXPOSE 8000
CMD ["gunicorn", "boostflow.wsgi", "--worker-class", "gthread", "--workers", "2", "--threads", "16", "--bind", "0.0.0.0:8000"]
