"""Containers and clusters: looking is free; running, removing and showing secrets is asked about."""

import pytest

from hermitty.policy.effects import Effect, Level

from .judging import is_allowed, is_asked, is_asked_at, lines

LOW, MEDIUM, HIGH, CRITICAL = Level.LOW, Level.MEDIUM, Level.HIGH, Level.CRITICAL

SAFE = lines(r"""
    docker
    docker --version
    docker -v
    docker --help
    docker version
    docker info
    docker info --format '{{.Driver}}'
    docker ps
    docker ps -a
    docker ps -aq
    docker ps -q --filter status=running
    docker ps --format '{{.Names}}'
    docker ps -n 3
    docker images
    docker images -q --no-trunc
    docker image ls -a
    docker image inspect x
    docker logs web
    docker logs -f --tail 100 web
    docker logs --since=1h -t web
    docker inspect web
    docker inspect -f '{{.State}}' web db
    docker container ls
    docker container inspect web
    docker stats --no-stream
    docker top web
    docker top web aux
    docker port web
    docker diff web
    docker history x
    docker history --no-trunc -H x
    docker volume ls
    docker volume inspect x
    docker network ls
    docker network inspect bridge
    docker system df
    docker system df -v
    docker system info
    docker context ls
    docker context show
    docker buildx ls
    docker buildx version
    docker events --since 1h --until 0m
    docker run --help
    docker compose version
    docker compose ps
    docker compose ps -a --format json
    docker compose logs
    docker compose logs -f --tail=50 web
    docker compose -f docker-compose.dev.yml ps
    docker compose -p x logs web
    docker compose ls
    docker compose images
    docker compose top
    docker compose config --services
    docker compose config -q
    docker-compose ps
    docker-compose logs web
    docker -D ps
    podman ps -a
    podman images
    podman --version
    kubectl version --client
    kubectl get pods
    kubectl get pods -A
    kubectl get pods -n kube-system -o wide
    kubectl -n prod get deploy,svc
    kubectl get pod web -o yaml
    kubectl get pods -l app=web --sort-by=.metadata.name
    kubectl get nodes -o=json
    kubectl get po -w
    kubectl get all
    kubectl describe pod web
    kubectl describe node/x
    kubectl logs web
    kubectl logs -f deploy/web -c app --tail=100
    kubectl logs web -p --since=1h
    kubectl explain pod.spec
    kubectl api-resources
    kubectl api-versions
    kubectl cluster-info
    kubectl top pods
    kubectl config view
    kubectl config get-contexts
    kubectl config current-context
    kubectl auth can-i create pods
    kubectl auth can-i get secrets
    kubectl explain secret
    kubectl rollout status deploy/web
    kubectl rollout history deploy/web
    kubectl --context staging get pods
    kubectl delete --help
    helm version
    helm list -A
    helm ls
    helm status web
    helm history web
    helm repo list
    helm search repo nginx
    helm env
    terraform version
    terraform -version
    terraform --version
    terraform fmt -check
    terraform fmt -check -diff -recursive
    terraform workspace show
    terraform plan -help
    tofu version
    ansible --version
""")

HOSTILE = lines(r"""
    docker run x
    docker run --rm -it x sh
    docker exec web ls
    docker exec -it web sh
    docker build .
    docker buildx build .
    docker compose up
    docker compose up -d
    docker compose restart web
    docker compose down
    docker compose exec web ls
    docker compose run web x
    docker compose build
    docker compose pull
    docker compose config
    docker compose config -o x
    docker compose config --services --output=x
    docker compose -f https://example.org/x.yml ps
    docker compose -f .env ps
    docker compose --env-file .env ps
    docker compose frobnicate
    docker-compose up
    docker start web
    docker stop web
    docker kill web
    docker restart web
    docker rm web
    docker rmi x
    docker image rm x
    docker volume rm x
    docker volume create x
    docker network rm x
    docker network create x
    docker system prune
    docker container prune
    docker cp web:/etc/passwd .
    docker cp x web:/
    docker commit web x
    docker pull x
    docker push x
    docker login
    docker search x
    docker save x
    docker load
    docker tag a b
    docker stats
    docker context use x
    docker context create x
    docker plugin install x
    docker swarm init
    docker secret ls
    docker manifest inspect x
    docker -H tcp://example.org ps
    docker --host=ssh://example.org ps
    docker --config ./x ps
    docker --config=./x ps
    docker -c remote ps
    docker --context remote ps
    docker ps --nonsense
    docker ps $x
    docker logs $x
    docker inspect "$x"
    docker $x
    docker scout x
    docker ps --filter $x
    podman run x
    podman --url ssh://example.org ps
    podman -r ps
    podman --hooks-dir=x ps
    buildah bud .
    skopeo copy a b
    kubectl get secrets
    kubectl get secret x -o yaml
    kubectl get secret/x
    kubectl get pods,secrets
    kubectl get Secrets
    kubectl get secrets.v1.
    kubectl describe secret x
    kubectl get $x
    kubectl get "$x"
    kubectl get -- "$x"
    kubectl get pods -o go-template-file=/etc/shadow
    kubectl get pods -o jsonpath-file=x
    kubectl get pods -o "$x"
    kubectl get pods --template=x
    kubectl rollout history deploy/x -o go-template-file=/etc/shadow
    kubectl config view -o go-template-file=x
    kubectl auth can-i get pods -o jsonpath-file=x
    kubectl get -f x.yaml
    kubectl get -k dir
    kubectl get -wk dir
    kubectl get -Ak dir
    kubectl get --raw /api/v1/secrets
    kubectl get pods --kubeconfig x
    kubectl --kubeconfig=x get pods
    kubectl -s https://example.org get pods
    kubectl get pods --server=https://example.org
    kubectl get pods --token x
    kubectl get pods --as root
    kubectl get pods --cache-dir=x
    kubectl get pods --profile=cpu --profile-output=x
    kubectl config view --raw
    kubectl config use-context prod
    kubectl config set-credentials x
    kubectl apply -f x.yaml
    kubectl create ns x
    kubectl delete pod x
    kubectl exec web -- ls
    kubectl run x --image=y
    kubectl cp web:/x .
    kubectl port-forward web 80
    kubectl proxy
    kubectl edit deploy web
    kubectl scale deploy web --replicas=0
    kubectl rollout restart deploy/web
    kubectl drain x
    kubectl diff -f x
    kubectl cluster-info dump
    kubectl auth reconcile -f x
    kubectl krew --help
    helm frobnicate --help
    docker scout --help
    terragrunt --version
    terragrunt fmt -check
    kubectl krew install x
    kubectl $x
    helm install web x
    helm upgrade web x
    helm uninstall web
    helm get values web
    helm repo add x https://example.org
    helm search hub nginx
    helm template x
    helm plugin install x
    helm list --kubeconfig x
    helm --kubeconfig=x list
    terraform init
    terraform plan
    terraform apply
    terraform destroy
    terraform validate
    terraform show
    terraform output
    terraform state list
    terraform fmt
    terraform fmt -check -write=true
    terraform import a b
    terraform workspace select x
    terraform workspace list
    terraform -chdir=x version
    terraform console
    terraform $x
    pulumi up
    ansible-playbook x.yml
    ansible all -m shell -a id
    vault read secret/x
    minikube start
    vagrant up
    serverless deploy
""")

LEVELS = [
    ("docker rm web db", HIGH, Effect.DELETE),
    ("docker rm -f web", HIGH, Effect.DELETE),
    ("docker rmi x", HIGH, Effect.DELETE),
    ("docker container rm x", HIGH, Effect.DELETE),
    ("docker image rm x", HIGH, Effect.DELETE),
    ("docker volume rm x", HIGH, Effect.DELETE),
    ("docker system prune", MEDIUM, Effect.DELETE),
    ("docker system prune -f", MEDIUM, Effect.DELETE),
    ("docker system prune -a", HIGH, Effect.DELETE),
    ("docker system prune -af", HIGH, Effect.DELETE),
    ("docker system prune --all --force", HIGH, Effect.DELETE),
    ("docker system prune --volumes", HIGH, Effect.DELETE),
    ("docker image prune", MEDIUM, Effect.DELETE),
    ("docker image prune -a", HIGH, Effect.DELETE),
    ("docker volume prune", HIGH, Effect.DELETE),
    ("docker run x", MEDIUM, Effect.EXEC),
    ("docker run --privileged x", HIGH, Effect.PRIVILEGE),
    ("docker run --cap-add SYS_ADMIN x", HIGH, Effect.PRIVILEGE),
    ("docker run --pid=host x", HIGH, Effect.PRIVILEGE),
    ("docker run --pid host x", HIGH, Effect.PRIVILEGE),
    ("docker run -v /:/host x", CRITICAL, Effect.PRIVILEGE),
    ("docker run -v/:/host x", CRITICAL, Effect.PRIVILEGE),
    ("docker run --volume=/etc:/x x", CRITICAL, Effect.PRIVILEGE),
    ("docker run --mount type=bind,source=/,target=/x x", CRITICAL, Effect.PRIVILEGE),
    ("docker run -v /var/run/docker.sock:/var/run/docker.sock x", CRITICAL, Effect.PRIVILEGE),
    ("docker run -v ./src:/src x", MEDIUM, Effect.EXEC),
    ("docker exec web ls", MEDIUM, Effect.EXEC),
    ("docker compose restart web", MEDIUM, Effect.PROCESS),
    ("docker compose down", MEDIUM, Effect.DELETE),
    ("docker compose down -v", HIGH, Effect.DELETE),
    ("docker compose down --volumes", HIGH, Effect.DELETE),
    ("docker compose rm web", HIGH, Effect.DELETE),
    ("docker stop web", MEDIUM, Effect.PROCESS),
    ("docker cp ~/.ssh/id_rsa web:/", HIGH, Effect.CREDENTIALS),
    ("docker cp web:/x /etc/x", HIGH, Effect.WRITE),
    ("docker --config ./x ps", HIGH, Effect.EXEC),
    ("podman rm x", HIGH, Effect.DELETE),
    ("kubectl get secrets", HIGH, Effect.CREDENTIALS),
    ("kubectl delete pod x", HIGH, Effect.DELETE),
    ("kubectl delete pods --all", CRITICAL, Effect.DELETE),
    ("kubectl delete ns prod", CRITICAL, Effect.DELETE),
    ("kubectl delete namespace/prod", CRITICAL, Effect.DELETE),
    ("kubectl apply -f x", MEDIUM, Effect.NETWORK),
    ("kubectl drain x", HIGH, Effect.PROCESS),
    ("kubectl get pods --kubeconfig=./x", HIGH, Effect.EXEC),
    ("helm uninstall web", HIGH, Effect.DELETE),
    ("helm upgrade web x", MEDIUM, Effect.NETWORK),
    ("terraform plan", MEDIUM, Effect.EXEC),
    ("terraform apply", HIGH, Effect.NETWORK),
    ("terraform apply -auto-approve", HIGH, Effect.NETWORK),
    ("terraform apply -destroy", CRITICAL, Effect.DELETE),
    ("terraform destroy -auto-approve", CRITICAL, Effect.DELETE),
    ("terragrunt run-all destroy", CRITICAL, Effect.DELETE),
    ("terraform state rm x", HIGH, Effect.WRITE),
]


@pytest.mark.parametrize("line", SAFE)
def test_looking_is_free(line: str) -> None:
    assert is_allowed(line)


@pytest.mark.parametrize("line", HOSTILE)
def test_what_does_more_is_asked_about(line: str) -> None:
    assert is_asked(line)


@pytest.mark.parametrize(("line", "level", "effect"), LEVELS)
def test_a_change_has_its_level(line: str, level: Level, effect: Effect) -> None:
    assert is_asked_at(line, level, effect)
