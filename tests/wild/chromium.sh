# SPDX-License-Identifier: MIT
# needs: chromium
# kills
# begins: malloc_stats
cat > page.html <<'J'
<!doctype html><title>t</title><p id=p></p>
<script>
let s = 0;
for (let i = 0; i < 300000; i++) s = (s * 31 + i) % 1000003;
const c = document.createElement('canvas');
document.getElementById('p').textContent = 'sum ' + s + ' ' + [...'quern'].reverse().join('') + ' ' + typeof c.getContext;
</script>
J
$RUN chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$PWD/u" --dump-dom "file://$PWD/page.html" 2>/dev/null | grep -o '<p.*</p>'
