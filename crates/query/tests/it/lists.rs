//! Lists are what a filter and a sort of all images say.

use keyloom_query::ListRequest;
use pollster::FutureExt;

use crate::rig::Rig;

#[test]
fn a_list_is_read_page_by_page() {
    let model = "[entity.task]\nfields.rank = \"int\"\nlist.ranked = { order = \"-rank\" }\n";
    Rig::each(model, |rig| {
        for number in 0..7 {
            rig.put(&rig.image("task", &format!("t{number}"), [("rank", number.into())]));
        }
        let (entity, list) = rig.list("task", "ranked");
        let request = ListRequest { limit: 3, ..ListRequest::new(entity, list) };
        let (mut cursor, mut ids) = (None, Vec::new());
        loop {
            let reader = rig.reader();
            let page = reader.list(&request, &rig.cursors, cursor.as_deref()).block_on().unwrap();
            ids.extend(page.rows.into_iter().map(|row| row.image.key.id));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(ids, ["t6", "t5", "t4", "t3", "t2", "t1", "t0"]);
    });
}
